"""results_means.py - means over seeds as the tables print them, and differences of two."""
import math
import statistics


def mean(values, sign=""):
    """The mean ± the standard deviation, where there are several values. sign: "+" for differences."""
    text = f"{statistics.mean(values):{sign}.2f}"
    return f"{text} ±{statistics.stdev(values):.2f}" if len(values) > 1 else text


def difference(own, others):
    """The difference of two means of as many values, and its standard error."""
    error = math.sqrt(sum(map(statistics.variance, (own, others))) / len(own))
    return statistics.mean(own) - statistics.mean(others), error


def beside(own, others):
    """The difference of two means, and how many standard errors of it that is."""
    if len(own) < 2:
        return f"{own[0] - others[0]:+.2f}"
    return in_errors(*difference(own, others))


def in_errors(gain, error, unit=""):
    return f"{gain:+.2f}{unit} ({gain / error:.1f} SE)"


def marked(found, base, paper, paper_base):
    """Mean ± deviation of scores by seed; bold where it lies on the other side of the base than the paper's."""
    text = mean(found.values())
    common = set(found) & set(base)
    if paper and common and sum(found[s] - base[s] for s in common) * (paper - paper_base) < 0:
        return f"**{text}**"
    return text
