"""Errors and warnings."""


class KindredError(Exception):
    """Error: kindred refused or failed.

    Attributes
    ----------
    text : str
        What the command wrote about it, with the way out.
    status : int or None
        Its exit status: 1 for a failure, 2 for wrong usage, negative for the number of the signal
        that ended it; None if it was not run.
    command : list of str
        The command, with the program first.
    """

    def __init__(self, text, status=None, command=()):
        super().__init__(text)
        self.text = text
        self.status = status
        self.command = list(command)

    def __reduce__(self):
        return type(self), (self.text, self.status, self.command)


class KindredWarning(UserWarning):
    """A warning: what was done differently than requested, and what to do about it."""


class ServerError(KindredError):
    """Error: a server refused or failed.

    Attributes
    ----------
    status : int or None
        The status of the answer, such as 404; None if there was no answer.
    code : str
        The kind of problem, which stays the same between versions.
    detail, fix : str
        What is wrong with the request, and what to do about it.
    request_id : str
        What the server's log calls the request.
    retry_after : float or None
        The seconds after which the server expects to do better.
    """

    def __init__(self, status, code, detail, fix="", request_id="", retry_after=None):
        text = detail if status is None else f"{detail} ({status} {code})"
        super().__init__(f"{text}: {fix}" if fix else text, status)
        self.code = code
        self.detail = detail
        self.fix = fix
        self.request_id = request_id
        self.retry_after = retry_after

    def __reduce__(self):
        return type(self), (self.status, self.code, self.detail, self.fix, self.request_id, self.retry_after)
