// A campaign in a process of its own, so that a test can compare several.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <fmt/format.h>
#include <iostream>
#include <string>

#include "cli/subprocess.h"
#include "tb/isolation/campaign.h"

namespace carillon::isolation {

/// With ISOLATION_TABLE the table goes to standard output; ISOLATION_ONLY leaves other bins out.
inline campaign_report run_campaign(campaign_options options) {
  if (const char* only = std::getenv("ISOLATION_ONLY")) {
    options.only = only;
  }
  const campaign_report report = campaign(options).run();
  if (std::getenv("ISOLATION_TABLE") != nullptr) {
    std::cout << report.table() << "digest " << report.digest << std::endl;
  }
  return report;
}

/// The digest, and whatever failed.
inline std::string digest_of(const campaign_options& options) {
  return run_in_child([&options] {
    const campaign_report report = run_campaign(options);
    std::string text = fmt::format("{:016x}", report.digest);
    for (const std::string& each : report.failures) {
      text += "; " + each;
    }
    return text;
  });
}

}  // namespace carillon::isolation
