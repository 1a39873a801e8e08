"""Why a model said what it said: attention captured, plotted and written as a page."""
