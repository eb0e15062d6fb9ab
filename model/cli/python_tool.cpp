#include "cli/python_tool.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <optional>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/subprocess.h"
#include "cli/text.h"
#include "common/error.h"

namespace carillon {

namespace {

namespace fs = std::filesystem;

constexpr int CannotRun = 127;  ///< as shells say it

/// Prints the modules that are missing; exits with 1 if there are any or Python is too old.
constexpr const char* Probe =
    "import sys, importlib.util as u\n"
    "old = sys.version_info < (3, 9)\n"
    "missing = [n for n in sys.argv[1:] if u.find_spec(n) is None]\n"
    "print('is older than 3.9' if old else 'lacks ' + ', '.join(missing))\n"
    "sys.exit(1 if old or missing else 0)\n";

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

bool executable(const fs::path& file) {
  std::error_code ignored;
  return fs::is_regular_file(file, ignored) && access(file.c_str(), X_OK) == 0;
}

/// Files of that name in the folders of PATH, in order.
std::vector<std::string> on_path(const std::string& name) {
  std::vector<std::string> result;
  for (const std::string& folder : split(environment("PATH"), ':')) {
    const fs::path file = fs::path(folder) / name;
    if (executable(file)) {
      result.push_back(file.string());
    }
  }
  return result;
}

/// Starts a program with this environment, waits, and returns its exit code.
int spawn(const std::vector<std::string>& words) {
  std::vector<char*> arguments;
  for (const std::string& each : words) {
    arguments.push_back(const_cast<char*>(each.c_str()));
  }
  arguments.push_back(nullptr);
  std::fflush(stdout);
  std::fflush(stderr);
  pid_t child = 0;
  if (posix_spawn(&child, words.front().c_str(), nullptr, nullptr, arguments.data(), environ) !=
      0) {
    return CannotRun;
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : CannotRun + 1;
}

/// What the probe said, or nullopt if the interpreter has everything.
std::optional<std::string> lacks(const std::string& python, const std::vector<std::string>& needs) {
  std::string command = fmt::format("'{}' -c \"{}\"", python, Probe);
  for (const std::string& each : needs) {
    command += " " + each;
  }
  command += " 2>/dev/null";
  std::FILE* pipe = popen(command.c_str(), "r");
  std::string said;
  char part[256];
  while (pipe != nullptr && std::fgets(part, sizeof part, pipe) != nullptr) {
    said += part;
  }
  const int status = pipe != nullptr ? pclose(pipe) : -1;
  if (status == 0) {
    return std::nullopt;
  }
  said.erase(said.find_last_not_of('\n') + 1);
  return fmt::format("{} {}", python, said.empty() ? "does not run" : said);
}

std::string find_python(const python_tool& tool) {
  std::vector<std::string> candidates;
  if (const std::string chosen = environment("CARILLON_PYTHON"); !chosen.empty()) {
    candidates = {chosen};
  } else {
    candidates = on_path("python3");
    candidates.emplace_back("/usr/bin/python3");
    // Folders stand on PATH twice more often than not.
    std::vector<std::string> distinct;
    for (const std::string& each : candidates) {
      if (executable(each) && std::find(distinct.begin(), distinct.end(), each) == distinct.end()) {
        distinct.push_back(each);
      }
    }
    candidates = distinct;
  }
  std::vector<std::string> complaints;
  for (const std::string& each : candidates) {
    const std::optional<std::string> complaint = lacks(each, tool.needs);
    if (!complaint) {
      return each;
    }
    complaints.push_back(*complaint);
  }
  throw config_error(fmt::format(
      "`carillon {}` needs Python 3.9 or newer{}{}: {}; on Debian: apt-get install {}; a Python of "
      "your own can be named in CARILLON_PYTHON",
      tool.package, tool.needs.empty() ? "" : " with ", fmt::join(tool.needs, " and "),
      complaints.empty() ? "there is no python3" : fmt::format("{}", fmt::join(complaints, "; ")),
      tool.installs));
}

/// The folder that holds the package: beside this program's source, or in its installation.
fs::path find_scripts(const std::string& package) {
  std::vector<fs::path> tried;
  if (const std::string chosen = environment("CARILLON_SCRIPTS"); !chosen.empty()) {
    tried = {chosen};
  } else {
    fs::path above = fs::path(own_binary()).parent_path();
    tried.push_back(above / "../share/carillon/scripts");
    for (int i = 0; i < 4 && above.has_relative_path(); ++i, above = above.parent_path()) {
      tried.push_back(above / "scripts");
    }
    tried.emplace_back(CARILLON_SCRIPTS_DIR);
  }
  for (const fs::path& each : tried) {
    std::error_code ignored;
    if (fs::exists(each / package / "__main__.py", ignored)) {
      return fs::absolute(each).lexically_normal();
    }
  }
  throw config_error(fmt::format(
      "the Python package `{}` is not beside this program ({}); CARILLON_SCRIPTS can name the "
      "folder that holds it",
      package, tried.front().string()));
}

}  // namespace

std::string own_binary() {
  std::error_code failed;
  const fs::path file = fs::read_symlink("/proc/self/exe", failed);
  return failed ? std::string("carillon") : file.string();
}

int run_python_tool(const python_tool& tool, const std::vector<std::string>& arguments) {
  const fs::path scripts = find_scripts(tool.package);
  const std::string python = find_python(tool);
  for (const std::string& program : tool.programs) {
    if (on_path(program).empty()) {
      throw config_error(fmt::format("`carillon {}` needs `{}`: on Debian: apt-get install {}",
                                     tool.package, program, tool.installs));
    }
  }
  const std::string path = environment("PYTHONPATH");
  setenv("PYTHONPATH", (scripts.string() + (path.empty() ? "" : ":" + path)).c_str(), 1);
  setenv("PYTHONDONTWRITEBYTECODE", "1", 0);  // an installation may belong to somebody else
  setenv("CARILLON_BINARY", own_binary().c_str(), 0);
  setenv("CARILLON_VERSION", CARILLON_VERSION, 1);
  std::vector<std::string> words = {python, "-m", tool.package};
  words.insert(words.end(), arguments.begin(), arguments.end());
  const int code = spawn(words);
  if (code >= CannotRun) {
    throw config_error(fmt::format("{}: did not run to its end", python));
  }
  return code;
}

}  // namespace carillon
