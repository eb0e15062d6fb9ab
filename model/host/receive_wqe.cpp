#include "host/receive_wqe.h"

#include <algorithm>
#include <bit>

namespace carillon {

std::uint32_t receive_stride(std::uint32_t sges, std::uint32_t heads) {
  return static_cast<std::uint32_t>(std::bit_ceil(std::max(1U, sges) + heads) * data_seg::Size);
}

bool build_receive_wqe(const receive_request& request, std::span<std::uint8_t> stride,
                       receive_head head) {
  static_assert(srq_next_seg::Size == data_seg::Size);
  const std::size_t first = head == receive_head::none ? 0 : data_seg::Size;
  if (request.sge_count > receive_request::MaxSges ||
      first + request.sge_count * data_seg::Size > stride.size()) {
    return false;
  }
  std::uint8_t* at = stride.data() + first;
  for (std::uint32_t i = 0; i < request.sge_count; ++i) {
    const sge& piece = request.sges[i];
    if (piece.length == 0) {
      continue;
    }
    data_seg data;
    data.byte_count = piece.length;
    data.lkey = piece.lkey;
    data.address = piece.address;
    data.pack(at);
    at += data_seg::Size;
  }
  std::uint8_t* const end = stride.data() + stride.size();
  if (at < end) {
    data_seg last;
    last.lkey = InvalidLkey;
    last.pack(at);
    std::fill(at + data_seg::Size, end, std::uint8_t{0});
  }
  return true;
}

void sign_receive_wqe(std::span<std::uint8_t> stride) {
  std::uint8_t& signature = stride[srq_next_seg::at::Signature];
  signature = 0;
  signature = wqe_signature(stride.data(), stride.size());
}

}  // namespace carillon
