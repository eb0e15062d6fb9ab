#!/usr/bin/python3
"""DCQCN on one congested link, packet by packet, from the published algorithm alone.

Zhu et al., "Congestion Control for Large-Scale RDMA Deployments" (SIGCOMM 2015), and Zhu et al.,
"ECN or Delay: Lessons Learnt from Analysis of DCQCN and TIMELY" (CoNEXT 2016). Nothing here is
shared with the model, neither text nor numbers: floating point, and no hardware.

Senders pace packets of one size at their rates into a queue of unlimited room, which one link
empties. A packet is marked as it leaves the queue, with the probability that the bytes behind it
give. Its receiver answers with a CNP unless it sent one to that flow within the CNP interval, and
the CNP arrives after the feedback delay, which stands for all delays of the loop. The gap behind a
packet is that of the rate at which it was sent.
"""

import argparse
import dataclasses
import heapq
import json
import math
import random
import sys
from collections import deque

NS_PER_US = 1000.0
SEND, ALPHA, TIMER, CNP = range(4)


@dataclasses.dataclass
class parameters:
    """Defaults of the papers; rates in Gb/s, times in us, sizes in bytes."""
    link: float = 40.0
    senders: int = 2
    packet: int = 1000
    delay: float = 4.0
    cnp_interval: float = 50.0
    alpha_timer: float = 55.0
    rate_timer: float = 55.0
    byte_counter: float = 10e6
    additive: float = 0.04
    hyper: float = 0.2
    stages: int = 5
    g: float = 1 / 256
    alpha: float = 1.0
    min_rate: float = 0.001
    kmin: float = 5e3
    kmax: float = 200e3
    pmax: float = 0.01
    warm_up: float = 100e3
    measured: float = 100e3
    starts: tuple = ()      # when each sender begins; the rest within the first 10 us, at random
    sample: float = 0.0     # every so often the rates and the queue; 0: never
    seed: int = 1


@dataclasses.dataclass
class result:
    """Of the measured time: the queue behind the packet on the wire in bytes, rates in Gb/s."""
    mean_queue: float
    deviation: float
    rates: list
    alphas: list
    jain: float
    utilisation: float
    marked: int
    cnps: int
    samples: list


def jain(rates):
    total = sum(rates)
    return total * total / (len(rates) * sum(r * r for r in rates)) if total else 1.0


class sender:
    """The reaction point of one flow, in bytes a nanosecond."""

    def __init__(self, p):
        self.line = p.link / 8
        self.low = p.min_rate / 8
        self.rate = self.target = self.line
        self.alpha = p.alpha
        self.g = p.g
        self.stages = p.stages
        self.additive = p.additive / 8
        self.hyper = p.hyper / 8
        self.byte_counter = p.byte_counter
        self.bytes = 0
        self.byte_stage = self.time_stage = 0
        self.cuts = 0           # timers of before a cut are void
        self.delivered = 0
        self.last_cnp = -math.inf
        self.alpha_sum = 0.0    # alpha over time
        self.alpha_since = 0.0

    def set_alpha(self, now, alpha):
        self.alpha_sum += self.alpha * (now - self.alpha_since)
        self.alpha_since = now
        self.alpha = alpha

    def cut(self, now):
        self.target = self.rate
        self.rate = max(self.low, self.rate * (1 - self.alpha / 2))
        self.set_alpha(now, (1 - self.g) * self.alpha + self.g)
        self.bytes = self.byte_stage = self.time_stage = 0
        self.cuts += 1

    def sent(self, size):
        self.bytes += size
        if self.bytes >= self.byte_counter:
            self.bytes -= self.byte_counter
            self.byte_stage += 1
            self.increase()

    def increase(self):
        if max(self.byte_stage, self.time_stage) >= self.stages:
            both = min(self.byte_stage, self.time_stage) > self.stages
            self.target += self.hyper if both else self.additive
        self.rate = min(self.line, (self.target + self.rate) / 2)


def simulate(p):
    rng = random.Random(p.seed)
    chance = rng.random
    interval, delay = p.cnp_interval * NS_PER_US, p.delay * NS_PER_US
    alpha_period, rate_period = p.alpha_timer * NS_PER_US, p.rate_timer * NS_PER_US
    begin = p.warm_up * NS_PER_US
    end = begin + p.measured * NS_PER_US
    size, service = p.packet, p.packet * 8 / p.link
    slope = p.pmax / (p.kmax - p.kmin)

    flows = [sender(p) for _ in range(p.senders)]
    events = []
    for i in range(p.senders):
        at = p.starts[i] if i < len(p.starts) else rng.uniform(0, 10)
        events.append((at * NS_PER_US, i, SEND, 0))
    heapq.heapify(events)
    push, pop, replace = heapq.heappush, heapq.heappop, heapq.heapreplace

    queue = deque()                # whose packets wait
    free_at = math.inf             # when the packet on the wire has left; never: the link is idle
    area = squares = since = 0.0   # of the queue over time, and until when
    marked = cnps = 0
    busy = 0
    samples = []
    next_sample = p.sample * NS_PER_US if p.sample else math.inf

    def leave(now):
        """The oldest packet goes to the wire, marked or not."""
        nonlocal marked, cnps, busy
        i = queue.popleft()
        behind = len(queue) * size
        if now >= begin:
            busy += 1
            flows[i].delivered += size
        if behind <= p.kmin:
            return
        if behind <= p.kmax and chance() >= (behind - p.kmin) * slope:
            return
        flow = flows[i]
        marked += now >= begin
        if now - flow.last_cnp >= interval:
            flow.last_cnp = now
            cnps += now >= begin
            push(events, (now + delay, i, CNP, 0))

    while True:
        now = min(events[0][0], free_at)
        if now >= next_sample:
            samples.append({"us": next_sample / NS_PER_US, "queue": len(queue) * size,
                            "rates": [8 * f.rate for f in flows],
                            "alphas": [f.alpha for f in flows]})
            next_sample += p.sample * NS_PER_US
            continue
        if now >= begin:
            if since < begin:
                since = begin
                for flow in flows:
                    flow.alpha_sum, flow.alpha_since = 0.0, begin
            if now >= end:
                break
            waiting = len(queue)
            area += waiting * (now - since)
            squares += waiting * waiting * (now - since)
            since = now
        if free_at <= now:
            if queue:
                leave(now)
                free_at = now + service
            else:
                free_at = math.inf
            continue
        _, i, kind, cuts = events[0]
        flow = flows[i]
        if kind == SEND:
            replace(events, (now + size / flow.rate, i, SEND, 0))
            queue.append(i)
            if free_at == math.inf:
                leave(now)
                free_at = now + service
            flow.sent(size)
            continue
        pop(events)
        if kind == CNP:
            flow.cut(now)
            push(events, (now + alpha_period, i, ALPHA, flow.cuts))
            push(events, (now + rate_period, i, TIMER, flow.cuts))
        elif cuts == flow.cuts:
            if kind == ALPHA:
                flow.set_alpha(now, (1 - flow.g) * flow.alpha)
                push(events, (now + alpha_period, i, ALPHA, cuts))
            else:
                flow.time_stage += 1
                flow.increase()
                push(events, (now + rate_period, i, TIMER, cuts))

    span = end - begin
    mean = area / span
    for flow in flows:
        flow.set_alpha(end, flow.alpha)
    rates = [8 * f.delivered / span for f in flows]
    return result(mean_queue=mean * size,
                  deviation=math.sqrt(max(0.0, squares / span - mean * mean)) * size, rates=rates,
                  alphas=[f.alpha_sum / span for f in flows], jain=jain(rates),
                  utilisation=busy * service / span, marked=marked, cnps=cnps, samples=samples)


@dataclasses.dataclass
class fixed_point:
    p: float
    queue: float    # bytes
    alpha: float


def solve_fixed_point(p):
    """Where the fluid model of the CoNEXT 2016 paper rests; in packets and seconds."""
    rate = p.link * 1e9 / 8 / p.packet / p.senders
    tau, alpha_tau, timer = (x * 1e-6 for x in (p.cnp_interval, p.alpha_timer, p.rate_timer))
    counter = p.byte_counter / p.packet
    additive = p.additive * 1e9 / 8 / p.packet

    def events_without(packets, quiet):
        """1 / ((1 - p)^-packets - 1)"""
        return math.exp(packets * quiet) / -math.expm1(packets * quiet)

    def excess(x):
        quiet = math.log1p(-x)
        a = -math.expm1(tau * rate * quiet)
        alpha = -math.expm1(alpha_tau * rate * quiet)
        b = x * events_without(counter, quiet)
        c = b * math.exp(p.stages * counter * quiet)
        d = x * events_without(timer * rate, quiet)
        e = d * math.exp(p.stages * timer * rate * quiet)
        return a * a * alpha / ((b + d) * (c + e)) - tau * tau * additive * rate

    low, high = 1e-6, 0.5
    for _ in range(200):
        middle = (low + high) / 2
        if excess(middle) > 0:
            high = middle
        else:
            low = middle
    return fixed_point(p=low, queue=low / p.pmax * (p.kmax - p.kmin) + p.kmin,
                       alpha=-math.expm1(alpha_tau * rate * math.log1p(-low)))


def main(argv):
    parser = argparse.ArgumentParser(prog="tb/oracles/dcqcn.py", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    for field in dataclasses.fields(parameters):
        name = "--" + field.name.replace("_", "-")
        if field.type is tuple:
            parser.add_argument(name, type=float, nargs="*", default=field.default, metavar="US")
        else:
            parser.add_argument(name, type=field.type, default=field.default, metavar="X",
                                help=f"default {field.default:g}")
    p = parameters(**{k: tuple(v) if isinstance(v, list) else v
                      for k, v in vars(parser.parse_args(argv)).items()})
    print(json.dumps({"result": dataclasses.asdict(simulate(p)),
                      "fixed_point": dataclasses.asdict(solve_fixed_point(p))}, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
