"""How good a translation is: BLEU and chrF with signatures, significance, reports."""
