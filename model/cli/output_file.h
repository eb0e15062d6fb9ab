// Files that are whole or absent: written under a temporary name and renamed when complete.
#pragma once

#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>

namespace carillon {

/// Appended to the name of a file that is being written.
inline constexpr const char* PartSuffix = ".part";

/// The output_error for a failed operation: what, where, and the system's reason.
[[noreturn]] void fail_output(const std::filesystem::path& path, std::string_view what);

/// Creates the folder and its parents; throws output_error if that cannot be.
void make_output_folder(const std::filesystem::path& folder);

class output_file {
 public:
  explicit output_file(std::filesystem::path path);
  output_file(const output_file&) = delete;
  output_file& operator=(const output_file&) = delete;
  /// Removes what was written unless it was committed.
  ~output_file();

  void write(std::string_view text);

  /// Flushes, checks and gives the file its name.
  void commit();

 private:
  std::filesystem::path path_;
  std::filesystem::path part_;
  std::FILE* file_ = nullptr;
};

void write_file(const std::filesystem::path& path, std::string_view text);

/// Standard output, checked: throws output_error when it is a full disk or a closed pipe.
void print(std::string_view text);

}  // namespace carillon
