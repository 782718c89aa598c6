# A Python that keeps what each call has left (cells/contexts/context.h). show.py stands before this; both run in a namespace
# with builtins of their own, so that code which replaces builtins does not reach us. Requests come in on one descriptor,
# answers go out on the other; the code of a call is compiled under a name of its own, so that tracebacks show its lines.
def serve():
    import sys

    requests, answers = int(sys.argv[1]), int(sys.argv[2])
    sys.path[:] = [p for p in sys.path if p]  # nothing of the workspace is to come between us and the library
    import _ast
    import _signal as signal  # the C module itself: the other one needs builtins that code may have replaced
    import fcntl
    import linecache
    import os
    import traceback

    ours, process, number, running, called = sys._getframe().f_globals, os.getpid(), 0, False, []
    most_error, most_trace, most_sources = 4 << 10, 128 << 10, 8 << 20
    read, write, getpid, leave = os.read, os.write, os.getpid, os._exit

    # Out of the way of code that closes or counts the low ones, and not for its children.
    def move(fd):
        moved = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 40)
        os.close(fd)
        return moved

    requests, answers = move(requests), move(answers)

    def take(count):
        got = b""
        while len(got) < count:
            piece = read(requests, count - len(got))
            if not piece:
                leave(0)
            got += piece
        return got

    def tell(kind, nonce=b"-", body=b""):
        data = memoryview(b"%c %s %d\n%s" % (kind, nonce, len(body), body))
        while data:
            data = data[write(answers, data):]

    records = []

    def keep(kind, name, data):
        if getpid() == process:
            records.append((kind, name, bytes(data)))

    begin, put_value, put_figures, attempt = showing(keep)

    def interrupted(signum, frame):
        if running:
            raise KeyboardInterrupt

    def remember(name, text):
        lines = text.splitlines(True)
        if lines and not lines[-1].endswith("\n"):
            lines[-1] += "\n"  # as linecache has them; the marks below a line are misplaced without
        linecache.cache[name] = (len(text), None, lines, name)
        called.append((name, len(text)))
        while len(called) > 1 and sum(size for _, size in called) > most_sources:
            linecache.cache.pop(called.pop(0)[0], None)

    def execute(source, name, space):
        tree = compile(source, name, "exec", 0x400, dont_inherit=True)  # PyCF_ONLY_AST
        last = tree.body[-1] if tree.body and isinstance(tree.body[-1], _ast.Expr) else None
        if last is not None:
            # All of it is compiled first, so that what is wrong with it is said before any of it runs.
            compile(tree, name, "exec", dont_inherit=True)
            tree.body.pop()
            last = compile(_ast.Expression(last.value), name, "eval", dont_inherit=True)
        code = compile(tree, name, "exec", dont_inherit=True)
        exec(code, space)
        value = eval(last, space) if last is not None else None
        if value is not None:
            attempt(put_value, value)

    def close_figures():
        helpers = sys.modules.get("matplotlib._pylab_helpers")
        if helpers:
            helpers.Gcf.destroy_all()

    def cut(text, most):
        return text if len(text) <= most else text[: most // 2] + "\n[...]\n" + text[-most // 2:]

    # The library's own words; ours, where code has broken what the library needs.
    def words_of(fault):
        trace = fault.__traceback__
        while trace is not None and trace.tb_frame.f_globals is ours:
            trace = trace.tb_next
        fault.__traceback__, frame = trace, trace
        while frame is not None:
            while frame.tb_next is not None and frame.tb_next.tb_frame.f_globals is ours:  # the handler of SIGINT
                frame.tb_next = frame.tb_next.tb_next
            frame = frame.tb_next
        try:
            only = "".join(traceback.format_exception_only(type(fault), fault))
            return only.strip().rpartition("\n")[2], "".join(traceback.format_exception(type(fault), fault, trace))
        except BaseException:
            text = type(fault).__name__
            lines = []
            while trace is not None:
                lines.append(f'  File "{trace.tb_frame.f_code.co_filename}", line {trace.tb_lineno}\n')
                trace = trace.tb_next
            return text, "".join([*lines[:50], text, "\n"])

    def flush():
        for stream in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__):
            attempt(lambda: stream.flush())

    def one(source, space):
        nonlocal running, number
        number += 1
        name, fault, state = f"<call-{number}>", None, "ok"
        remember(name, source.decode("utf-8", "replace"))
        begin()
        records.clear()
        signal.signal(signal.SIGINT, interrupted)
        try:
            running = True
            tell(ord("B"))
            try:
                execute(source, name, space)
            finally:
                attempt(put_figures)
                attempt(close_figures)
                running = False
        except KeyboardInterrupt as error:
            running, fault, state = False, error, "interrupted"
        except BaseException as error:
            running, fault, state = False, error, "error"
        if fault is not None:
            error, trace = words_of(fault)
            fault = None
            records.append(("error", "-", cut(error, most_error).encode("utf-8", "replace")))
            records.append(("traceback", "-", cut(trace, most_trace).encode("utf-8", "replace")))
            if getpid() != process:
                attempt(lambda: sys.stderr.write(trace))
        flush()
        if getpid() != process:
            leave(0 if state == "ok" else 1)  # a copy that the code has made: there is one answer, and it is not its
        records.append(("state", state, b""))

    main = sys.modules["__main__"] = type(sys)("__main__")
    space = main.__dict__
    space.update(__builtins__=sys.modules["builtins"], __annotations__={})
    sys.argv[:] = [""]
    sys.orig_argv[1:] = []
    sys.path.insert(0, "")
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(line_buffering=True, errors="backslashreplace")
    signal.signal(signal.SIGINT, interrupted)
    tell(ord("H"))
    while True:
        source = take(int(take(10)))
        take(1)
        one(source, space)
        nonce = take(33)[:32]
        tell(ord("R"), nonce, b"".join(b"%s %s %d\n%s" % (kind.encode(), name.encode(), len(data), data) for kind, name, data in records))
        records.clear()


serve()
