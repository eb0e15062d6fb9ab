"""One colour a stage, the same in every chart.

Stages are grouped by where on the way of a message they are: host, transmit side, wire, receive
side, completion. A group has one hue family of Okabe and Ito's palette, which colour-blind readers
tell apart; within a group, neighbours on the path differ in lightness.
"""

# In the order of a message's way; the legend has this order.
STAGES = {
    "cpu": "#8c8c8c",
    "pcie": "#c4c4c4",
    "pcie_rx": "#00466e",
    "uar": "#56b4e9",
    "wqe_fetch": "#0072b2",
    "qpc_ram": "#a6dcf7",
    "wqe_parser": "#2b8cbe",
    "tx_sched": "#9ad8c6",
    "payload_dma": "#009e73",
    "packet_builder": "#5cc2a4",
    "tx_mac": "#00604a",
    "wire": "#222222",
    "rx_mac": "#f7d9a0",
    "rx_parser": "#e69f00",
    "responder": "#b35900",
    "requester": "#f4a582",
    "completion": "#cc79a7",
}
_OTHERS = ("#f0e442", "#7a4b8f", "#d55e00", "#6b6b00")

# Series that are no stages: submission methods, tenants, points of a sweep.
SERIES = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7a4b8f", "#222222")

INK = "#1f2933"
GRID = "#e4e7eb"


def of_stage(name):
    """The colour of a stage; others than the known ones get one that depends on the name only."""
    if name in STAGES:
        return STAGES[name]
    return _OTHERS[sum(name.encode()) % len(_OTHERS)]


def stage_order(names):
    """Stages in the order of a message's way, then others by name."""
    rank = {name: i for i, name in enumerate(STAGES)}
    return sorted(names, key=lambda name: (rank.get(name, len(rank)), name))


def of_series(index):
    return SERIES[index % len(SERIES)]
