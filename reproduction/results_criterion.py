"""results_criterion.py - one criterion for all claims, and its verdicts.

A claim is held against comparisons: differences of two scores of the same seeds (rounds, of times). The
criterion is the t interval of their mean at 95 %. A comparison supports a claim that something is better
where the interval lies above zero, and contradicts it where it lies below; a claim that two are alike, or
that one is no worse, where it lies inside or outside of a margin, which the claim's row names.
"""
import math
import statistics

# Student's t at 95 %, two sides, by degrees of freedom.
T95 = (None, 12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
       2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086)
BETTER, ALIKE, NO_WORSE = "better", "alike", "no worse"
SUPPORTED, CONTRADICTED, OPEN = "supported", "contradicted", "not decided"


class Comparison:
    """Differences that a claim is held against. kind: BETTER, or with a margin ALIKE or NO_WORSE."""

    def __init__(self, name, gains, kind=BETTER, margin=0.0):
        self.name, self.gains, self.kind, self.margin = name, list(gains), kind, margin

    @property
    def mean(self):
        return statistics.mean(self.gains)

    def half(self, n=None):
        """Half of the t interval, of n such differences; None with fewer than two."""
        count = len(self.gains)
        if count < 2:
            return None
        n = n or count
        return T95[n - 1] * statistics.stdev(self.gains) / math.sqrt(n)

    @property
    def verdict(self):
        half = self.half()
        if half is None:
            return OPEN
        low, high = self.mean - half, self.mean + half
        if self.kind == ALIKE:
            outside = low > self.margin or high < -self.margin
            return SUPPORTED if -self.margin < low and high < self.margin else CONTRADICTED if outside else OPEN
        bar = -self.margin if self.kind == NO_WORSE else 0
        return SUPPORTED if low > bar else CONTRADICTED if high < bar else OPEN

    @property
    def needed(self):
        """The number of seeds whose interval would decide, if means and deviations stay; None above 20."""
        if len(self.gains) < 2:
            return None
        bars = (-self.margin, self.margin) if self.kind == ALIKE else (
            (-self.margin,) if self.kind == NO_WORSE else (0.0,))
        off = min(abs(self.mean - bar) for bar in bars)
        return next((n for n in range(2, len(T95) + 1) if self.half(n) < off), None)

    def told(self):
        half = self.half()
        if half is None:
            return f"{self.name} {self.mean:+.2f} (one seed)"
        return f"{self.name} {self.mean:+.2f} ±{half:.2f} ({len(self.gains)})"


def paired(own, base):
    """The differences of two scores by seed, of the seeds of both."""
    return [own[seed] - base[seed] for seed in sorted(set(own) & set(base))]


def verdict(comparisons):
    """The verdict of a claim from those of its comparisons."""
    found = [c.verdict for c in comparisons]
    yes, no = found.count(SUPPORTED), found.count(CONTRADICTED)
    if not yes and not no:
        return OPEN
    if yes == len(found):
        return SUPPORTED
    if no == len(found):
        return CONTRADICTED
    parts = [f"{SUPPORTED} in {yes}"] * (yes > 0) + [f"{CONTRADICTED} in {no}"] * (no > 0)
    return f"{', '.join(parts)} of {len(found)}"


FIRST = "three seeds, to tell how many"  # of a comparison that has one


def would_decide(comparisons):
    """What the open comparisons want."""
    if not comparisons:
        return "the planned runs"
    left = [c for c in comparisons if c.verdict == OPEN]
    if not left:
        return ""
    several = [c for c in left if len(c.gains) > 1]
    if len(several) < len(left):
        alone = f"{FIRST} for {len(left) - len(several)} of {len(left)}"
        return "; ".join((alone, would_decide(several))) if several and would_decide(several) else alone
    needed = [c.needed for c in left]
    known = [n for n in needed if n]
    more = f"{min(known)} to {max(known)} seeds" if known and min(known) < max(known) else (
        f"{known[0]} seeds" if known else "")
    if len(known) < len(left):
        rest = "more than 20 seeds, or a larger setting"
        return f"{more} in {len(known)} of {len(left)}; {rest}" if known else rest
    return more
