// Who uses which function of a device.
//
// Exclusively: each user has a VF of its own until none is left, which is a failure with a name of
// its own. A VF that comes back is reset before the next user gets it. Shared: all users have the
// same function, each with a protection domain of its own, and with a UAR page of its own as long
// as there are any; later ones share pages, and with them the lock that a post holds.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "common/error.h"
#include "host/sriov.h"

namespace carillon {

/// There is no function left for another user.
class vf_exhausted : public config_error {
 public:
  vf_exhausted(const std::string& host, unsigned existing, bool shared);

  const unsigned existing;  ///< functions, or users of the shared one
};

class vf_pool {
 public:
  /// What one function may be shared by at most.
  static constexpr unsigned MaxUsers = 500;

  /// What a user gets.
  struct lease {
    device* adapter = nullptr;  ///< open
    std::uint16_t function = 0;
    std::uint32_t pd = 0;
    uar_handle* uar = nullptr;
  };

  vf_pool(std::string host, sriov& functions);
  vf_pool(const vf_pool&) = delete;
  vf_pool& operator=(const vf_pool&) = delete;

  /// The lowest free VF, or a share of the PF. Throws vf_exhausted.
  task<lease> acquire(cpu& core);

  /// The user has gone: its VF is reset; of a shared function it has destroyed everything but its
  /// protection domain and UAR page.
  task<> release(cpu& core, lease from);

  [[nodiscard]] bool shared() const { return functions_.settings().shared; }

  /// Users that can have a function at the same time.
  [[nodiscard]] unsigned capacity() const {
    return shared() ? MaxUsers : functions_.settings().enabled_vfs();
  }

  [[nodiscard]] unsigned users() const { return users_; }

  /// VFs that were reset for another user.
  [[nodiscard]] std::uint64_t reused() const { return reused_; }

 private:
  struct page {
    uar_handle* uar = nullptr;
    unsigned users = 0;
  };

  task<uar_handle*> take_page(cpu& core);

  const std::string host_;
  sriov& functions_;
  std::set<std::uint16_t> taken_;
  std::vector<page> pages_;  ///< of the shared function
  bool pages_left_ = true;   ///< the device may have another page
  cpu_lock pages_lock_;
  unsigned users_ = 0;
  std::uint64_t reused_ = 0;
};

}  // namespace carillon
