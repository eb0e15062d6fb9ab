// Work in a child process that hands a text back; failures arrive as the exceptions that they were.
#pragma once

#include <functional>
#include <string>

namespace carillon {

/// Runs `work` in a fork of this process and returns its text. The child's config_error,
/// output_error and model_error are thrown again here; a child that dies is a model_error.
std::string run_in_child(const std::function<std::string()>& work);

/// Calls `work` and turns what escapes a SystemC process, an sc_report, into the model_error that
/// it was.
void call_translated(const std::function<void()>& work);

}  // namespace carillon
