"""Reading cohorts, rankings and labels; one view of any cohort by blocks of rows."""
