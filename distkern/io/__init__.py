"""Readers of cohorts and labels, and `Source`, the view of any cohort as blocks of rows."""
