#include "cli/subprocess.h"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <systemc>

#include "common/error.h"

namespace carillon {

namespace {

/// The first byte that the child sends tells what the rest is.
enum class verdict : char { done = 'd', config = 'c', output = 'o', model = 'm' };

std::string reply(const std::function<std::string()>& work) {
  const auto tagged = [](verdict what, const std::string& text) {
    return std::string(1, static_cast<char>(what)) + text;
  };
  try {
    std::string text;
    call_translated([&] { text = work(); });
    return tagged(verdict::done, text);
  } catch (const output_error& error) {
    return tagged(verdict::output, error.what());
  } catch (const config_error& error) {
    return tagged(verdict::config, error.what());
  } catch (const std::exception& error) {
    return tagged(verdict::model, error.what());
  }
}

[[noreturn]] void serve(int out, const std::function<std::string()>& work) {
  const std::string text = reply(work);
  std::size_t sent = 0;
  while (sent < text.size()) {
    const ssize_t count = write(out, text.data() + sent, text.size() - sent);
    if (count < 0 && errno != EINTR) {
      break;
    }
    sent += count > 0 ? static_cast<std::size_t>(count) : 0;
  }
  std::fflush(stderr);
  // No destructors: what the child inherited belongs to the parent.
  _exit(0);
}

std::string receive(int in) {
  std::string text;
  std::array<char, 65536> part{};
  while (true) {
    const ssize_t count = read(in, part.data(), part.size());
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count <= 0) {
      return text;
    }
    text.append(part.data(), static_cast<std::size_t>(count));
  }
}

}  // namespace

void call_translated(const std::function<void()>& work) {
  try {
    work();
  } catch (const sc_core::sc_report& report) {
    // The kernel keeps only the text of an exception that left a process.
    throw model_error(report.get_msg());
  }
}

std::string run_in_child(const std::function<std::string()>& work) {
  std::array<int, 2> ends{};
  if (pipe(ends.data()) != 0) {
    throw output_error(fmt::format("cannot create a pipe: {}", std::strerror(errno)));
  }
  std::fflush(stdout);
  std::fflush(stderr);
  const pid_t child = fork();
  if (child < 0) {
    throw output_error(fmt::format("cannot start a process: {}", std::strerror(errno)));
  }
  if (child == 0) {
    close(ends[0]);
    serve(ends[1], work);
  }
  close(ends[1]);
  const std::string text = receive(ends[0]);
  close(ends[0]);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (text.empty() || !WIFEXITED(status)) {
    throw model_error(WIFSIGNALED(status)
                          ? fmt::format("the simulation was ended by signal {}", WTERMSIG(status))
                          : std::string("the simulation ended without a result"));
  }
  const std::string rest = text.substr(1);
  switch (static_cast<verdict>(text.front())) {
    case verdict::done:
      return rest;
    case verdict::config:
      throw config_error(rest);
    case verdict::output:
      throw output_error(rest);
    case verdict::model:
      break;
  }
  throw model_error(rest);
}

}  // namespace carillon
