"""A program that marks its work with the sonde package; prints what it marked as JSON."""

import json
import threading

import sonde


@sonde.range("decorated")
def decorated(depth):
    if depth:
        decorated(depth - 1)


def worker():
    for i in range(1000):
        with sonde.range(f"worker {i % 10}"):
            pass


def main():
    with sonde.profile() as profile:
        for step in range(3):
            if step:
                profile.step()
            with sonde.range('quote " \\ \u00e9\n\0end'):
                sonde.mark("inside")
            sonde.counter("loss", 0.5 / (step + 1))
    decorated(4)
    still_open = []
    sonde.range_push("outer")
    sonde.range_push("x" * 20000)
    still_open.append(sonde.range_pop())
    still_open.append(sonde.range_pop())
    sonde.metadata("batch size", 64)
    try:
        with sonde.range("raises"):
            raise ValueError
    except ValueError:
        pass
    threads = [threading.Thread(target=worker) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(json.dumps({"open": still_open, "recording": sonde.recording()}))


main()
