// The judge's clerk: translates what programs post and see into the terms of the independent
// reference, which knows nothing of the model.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>

#include "cli/system.h"
#include "host/verbs.h"
#include "host/verbs_observer.h"
#include "reference/verbs_reference.h"

namespace carillon {

class scoreboard {
 public:
  /// Watches the drivers of all nodes from now on.
  explicit scoreboard(system_model& system);
  scoreboard(const scoreboard&) = delete;
  scoreboard& operator=(const scoreboard&) = delete;
  ~scoreboard();

  /// After the run: compares all memory.
  void finish() { judge_.finish(); }

  [[nodiscard]] const reference::totals& result() const { return judge_.result(); }

  [[nodiscard]] const std::vector<std::string>& complaints() const { return judge_.complaints(); }

 private:
  /// What one node's programs do.
  class clerk final : public verbs_observer {
   public:
    clerk(scoreboard& owner, unsigned index) : board_(owner), host_(index) {}

    void on_connect(const queue_pair& own, const queue_pair_address& peer) override;
    void on_post(const queue_pair& own, const work_request& request) override;
    void on_post(const queue_pair& own, const receive_request& request) override;
    void on_post(const shared_receive_queue& own, const receive_request& request) override;
    void on_completion(const queue_pair& own, const completion& entry) override;
    void on_register(const page_list& pages, std::uint64_t length) override;

   private:
    [[nodiscard]] reference::queue_key key_of(const queue_pair& own) const;
    [[nodiscard]] unsigned host_of(std::uint64_t mac) const;

    scoreboard& board_;
    const unsigned host_;
  };

  struct paged_range {
    page_list pages;
    std::uint64_t length = 0;
  };

  void read(unsigned host, std::uint64_t address, std::uint8_t* into, std::size_t length) const;

  system_model& system_;
  reference::verbs_reference judge_;
  std::vector<std::unique_ptr<clerk>> clerks_;               ///< by host
  std::vector<std::map<std::uint64_t, paged_range>> paged_;  ///< by host, then first address
};

}  // namespace carillon
