"""Behind `carillon report`: a run or a sweep as one self-contained HTML file."""
