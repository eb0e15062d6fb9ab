import sys

from report.main import main

sys.exit(main(sys.argv[1:]))
