#include "common/due_process.h"

#include <algorithm>
#include <string_view>

#include "common/error.h"
#include "common/run.h"

namespace carillon {

namespace {

std::size_t processes_below(const std::vector<sc_core::sc_object*>& objects) {
  std::size_t count = 0;
  for (const sc_core::sc_object* each : objects) {
    const std::string_view kind = each->kind();
    count +=
        kind == "sc_method_process" || kind == "sc_thread_process" || kind == "sc_cthread_process";
    count += processes_below(each->get_child_objects());
  }
  return count;
}

}  // namespace

due_process::due_process(const sc_core::sc_module_name& name)
    : sc_core::sc_module(name), due_("due") {
  SC_HAS_PROCESS(due_process);
  SC_METHOD(process);
  sensitive << due_;
  dont_initialize();
  all_.push_back(this);
}

due_process::~due_process() {
  std::erase(all_, this);
}

void due_process::notify() {
  // Before the start a component may ask for time zero: it runs in the next delta.
  const ps_t now = now_ps();
  due_.notify(sc_core::sc_time::from_value(scheduled_ > now ? scheduled_ - now : 0));
}

void due_process::run_now() {
  scheduled_ = NeverPs;
  run_due();
}

void due_process::process() {
  ++activations_;
  guarded([this] { run_now(); });
}

bool due_process::alone() {
  return processes_below(sc_core::sc_get_top_level_objects()) == all_.size();
}

bool due_process::at_rest() {
  return std::all_of(all_.begin(), all_.end(),
                     [](const due_process* each) { return each->scheduled_ == NeverPs; });
}

void due_process::run_directly(ps_t end) {
  CARILLON_CHECK(alone(), "{} processes cannot do without the kernel: they are not alone",
                 all_.size());
  if (!direct_) {
    direct_now_ = sc_core::sc_time_stamp().value();
    direct_ = true;
    for (due_process* each : all_) {
      each->due_.cancel();
    }
  }
  while (true) {
    due_process* next = nullptr;
    ps_t when = NeverPs;
    for (due_process* each : all_) {
      if (each->scheduled_ < when) {
        when = each->scheduled_;
        next = each;
      }
    }
    if (next == nullptr || when > end) {
      return;
    }
    direct_now_ = when;
    next->run_now();
  }
}

}  // namespace carillon
