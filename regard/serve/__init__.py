"""The service: models behind HTTP, many clients in the same batches."""
