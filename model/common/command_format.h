// What device and driver must agree on beyond the layouts of the command interface: how an input or
// output is spread over the entry and its mailboxes, and how they are signed.
//
// A signature byte makes the exclusive or of the bytes that it signs, itself included, 0xff. Zero
// says that there is none.
#pragma once

#include <cstdint>
#include <span>

#include "gen/contexts.h"
#include "gen/registers.h"

namespace carillon {

static_assert(MailboxBytes == MailboxDataBytes + mailbox_control::Size);

inline constexpr std::uint8_t Signed = 0xff;

/// Of an input or output of `bytes` bytes, whose first ones are in the entry.
constexpr std::uint32_t mailboxes_of(std::uint32_t bytes) {
  return bytes <= CommandInlineBytes
             ? 0
             : (bytes - CommandInlineBytes + MailboxDataBytes - 1) / MailboxDataBytes;
}

constexpr std::uint8_t exclusive_or(std::span<const std::uint8_t> bytes) {
  std::uint8_t sum = 0;
  for (const std::uint8_t each : bytes) {
    sum ^= each;
  }
  return sum;
}

using command_entry_bytes = std::span<std::uint8_t, command_entry::Size>;
using mailbox_bytes = std::span<std::uint8_t, MailboxBytes>;

inline void sign_entry(command_entry_bytes entry) {
  entry[command_entry::at::Signature] = 0;
  entry[command_entry::at::Signature] = exclusive_or(entry) ^ Signed;
}

inline bool signature_holds(std::span<const std::uint8_t, command_entry::Size> entry) {
  return entry[command_entry::at::Signature] == 0 || exclusive_or(entry) == Signed;
}

/// The control part is all but the signature of the whole.
inline bool control_signature_holds(std::span<const std::uint8_t, mailbox_control::Size> control) {
  return control[mailbox_control::at::ControlSignature] == 0 ||
         exclusive_or(control.first<mailbox_control::at::Signature>()) == Signed;
}

inline void sign_mailbox(mailbox_bytes box) {
  const auto control = box.last<mailbox_control::Size>();
  std::uint8_t& part = control[mailbox_control::at::ControlSignature];
  std::uint8_t& whole = control[mailbox_control::at::Signature];
  part = 0;
  whole = 0;
  part = exclusive_or(control) ^ Signed;
  whole = exclusive_or(box) ^ Signed;
}

inline bool mailbox_signature_holds(std::span<const std::uint8_t, MailboxBytes> box) {
  const auto control = box.last<mailbox_control::Size>();
  return control_signature_holds(control) &&
         (control[mailbox_control::at::Signature] == 0 || exclusive_or(box) == Signed);
}

}  // namespace carillon
