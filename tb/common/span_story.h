// A message's spans as text, for tests that say where its time went.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/tracer.h"

namespace carillon::bench {

using span_story = std::vector<std::string>;

/// The spans of a chain as "place kind end", waits as "place wait reason end", from the first on.
inline span_story story_of(const tracer& trace, trace_ref ref) {
  span_story result;
  const message_record* record = trace.record(ref.message);
  for (std::uint32_t at = ref.span; at != 0; at = record->spans[at].previous) {
    const span& s = record->spans[at];
    std::string line = trace.name(s.place) + " " + to_string(s.kind);
    if (s.kind == span_kind::wait) {
      line += " " + trace.name(s.reason);
    }
    result.insert(result.begin(), line + " " + std::to_string(s.end));
  }
  return result;
}

}  // namespace carillon::bench
