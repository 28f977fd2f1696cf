"""How the comparisons time a peer, and what they make of several ratios."""
import math
import statistics
import time


def median_ms(run, seconds):
    """The median of calls during `seconds`, at least five, after three to warm up."""
    for _ in range(3):
        run()
    times, end = [], time.perf_counter() + seconds
    while len(times) < 5 or time.perf_counter() < end:
        begin = time.perf_counter()
        run()
        times.append(time.perf_counter() - begin)
    return 1e3 * statistics.median(times)


def geometric_mean(ratios):
    return math.exp(statistics.mean(math.log(ratio) for ratio in ratios))
