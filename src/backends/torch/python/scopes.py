"""`with record_function(...)`, with which torch.profiler also marks its steps, if operators are not recorded
natively."""

import functools


def start(torch, recorder):
    scope = torch.autograd.profiler.record_function
    enter, leave = scope.__enter__, scope.__exit__
    category = recorder.intern("user_annotation")

    @functools.wraps(enter)
    def __enter__(self):
        text = str(self.name).encode("utf-8", "replace")
        self._sonde_range = recorder.range_start(recorder.domain, category, text)
        return enter(self)

    @functools.wraps(leave)
    def __exit__(self, *arguments):
        try:
            return leave(self, *arguments)
        finally:
            recorder.range_stop(self.__dict__.pop("_sonde_range", 0))

    scope.__enter__, scope.__exit__ = __enter__, __exit__
