"""What the reader of a report did wrong, as opposed to our bugs."""


class report_error(Exception):
    """The input is at fault; the message says where and what would be right. Exit code 2."""
