import sys

from sweep.main import main

sys.exit(main(sys.argv[1:]))
