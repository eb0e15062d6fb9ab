// The part of summary.json about flows and the network.
#pragma once

#include "cli/summary.h"

namespace carillon {

/// Jain's index of fairness: 1 if all are alike, 1/n if one has everything; 1 of nothing at all.
double fairness(const std::vector<double>& rates);

/// `flows`; nothing for a run without them.
void add_flows(const run_facts& facts, json& summary);

/// `network`; nothing for two hosts on a cable.
void add_network(const run_facts& facts, json& summary);

}  // namespace carillon
