"""Behind `carillon sweep`: Snakemake runs the points, one table holds what they found."""
