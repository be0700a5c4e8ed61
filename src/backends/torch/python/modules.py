"""The time that each nn.Module takes, as ranges "nn.Module: ResNet.layer1.0.conv1 (Conv2d)".

Global hooks, before and after a module's forward. There is no hook for a module that raises: the range that its
pre-hook began is dropped when an enclosing module ends."""

import threading
import warnings
import weakref

_DEEPEST = 1000  # open modules of a thread, beyond which exceptions must have left them open


class _Names:
    """A module's name: its path from the outermost called module, and its class."""

    def __init__(self):
        self._known = {}  # by id: a weak reference and the text. A module may be unhashable.

    def find(self, module):
        entry = self._known.get(id(module))
        return entry[1] if entry is not None and entry[0]() is module else None

    def learn(self, root):
        name = type(root).__name__
        self._add(root, "nn.Module: " + name)
        for path, module in root.named_modules():
            if path and self.find(module) is None:
                self._add(module, "nn.Module: %s.%s (%s)" % (name, path, type(module).__name__))

    def of(self, module, outermost):
        text = self.find(module)
        if text is None:
            if outermost:
                self.learn(module)
            else:
                self._add(module, "nn.Module: " + type(module).__name__)
            text = self.find(module)
        return text

    def _add(self, module, text):
        key = id(module)
        gone = weakref.ref(module, lambda _: self._known.pop(key, None))
        self._known[key] = (gone, text.encode("utf-8", "replace"))


class _Thread(threading.local):
    def __init__(self):
        self.open = []  # (module's id, text, ticks), innermost last


def _is_compiling(torch):
    """torch.compiler.is_compiling, which torch.compile evaluates while it traces; None before torch 2."""
    compiler = getattr(torch, "compiler", None)
    return getattr(compiler, "is_compiling", None)


def _keep_quiet(torch):
    """Suppresses the warning about global hooks that compiled modules give (torch 2.7 and later): ours change
    nothing."""
    any_hook = getattr(torch.nn.modules.module, "_has_any_global_hook", None)
    if any_hook is None or any_hook():
        return  # the program's own hooks may raise
    warnings.filterwarnings("ignore", r"Using `torch\.compile\(module\)` when there are global hooks",
                            UserWarning)


def start(torch, recorder):
    names, thread, category = _Names(), _Thread(), recorder.intern("module")
    recording, ticks, range_at, domain = (recorder.recording, recorder.ticks, recorder.range_at,
                                          recorder.domain)
    is_compiling = _is_compiling(torch) or (lambda: False)

    def before(module, _):
        if is_compiling() or not recording():
            return
        try:
            stack = thread.open
            if len(stack) > _DEEPEST:
                del stack[:_DEEPEST // 2]
            stack.append((id(module), names.of(module, not stack), ticks()))
        except Exception:
            pass

    def after(module, *_):
        if is_compiling() or not thread.open:
            return
        stack, key = thread.open, id(module)
        for index in range(len(stack) - 1, -1, -1):
            if stack[index][0] == key:
                range_at(domain, category, stack[index][1], stack[index][2], ticks())
                del stack[index:]
                return

    _keep_quiet(torch)
    torch.nn.modules.module.register_module_forward_pre_hook(before)
    torch.nn.modules.module.register_module_forward_hook(after)
