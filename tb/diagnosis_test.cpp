// From what a device reports to a cause with a name.

#include "cli/diagnosis.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace carillon {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

symptom failed(cqe_syndrome syndrome) {
  symptom each;
  each.where = "tenant 0 (VF 0 of host0)";
  each.syndrome = syndrome;
  return each;
}

symptom refused(command_syndrome detail) {
  symptom each;
  each.what = symptom::kind::refusal;
  each.detail = detail;
  each.text = "the device refused";
  return each;
}

finding only(const std::vector<symptom>& symptoms,
             const std::vector<function_counts>& functions = {}) {
  const std::vector<finding> found = diagnose(symptoms, functions);
  EXPECT_EQ(found.size(), 1U);
  return found.empty() ? finding{} : found.front();
}

TEST(diagnosis, finds_nothing_where_nothing_failed) {
  EXPECT_THAT(diagnose({}, {{"VF 0 of host0", {{"tx_packets", 5}}}}), IsEmpty());
}

TEST(diagnosis, tells_the_two_reasons_of_a_local_protection_error_apart) {
  symptom each = failed(cqe_syndrome::LocalProtection);
  each.asked = true;
  each.qp_pd = 1;
  EXPECT_EQ(only({each}).cause, "memory_not_registered");
  each.key_pd = 2;
  EXPECT_EQ(only({each}).cause, "wrong_pd");
  EXPECT_EQ(only({each}).text,
            "local protection error (CQE 0x04): the key's PD 2 is not the QP's, 1");
  each.key_pd = 1;
  EXPECT_EQ(only({each}).cause, "local_protection_error");
  each.asked = false;
  EXPECT_EQ(only({each}).cause, "local_protection_error");
}

TEST(diagnosis, blames_the_mtu_only_if_the_ends_differ) {
  symptom each = failed(cqe_syndrome::RemoteInvalidRequest);
  each.mtu = 4096;
  each.peer_mtu = 4096;
  EXPECT_EQ(only({each}).cause, "remote_invalid_request");
  each.peer_mtu = 1024;
  EXPECT_EQ(only({each}).cause, "mtu_mismatch");
  EXPECT_THAT(only({each}).text, AllOf(HasSubstr("4096 B"), HasSubstr("1024 B")));
}

TEST(diagnosis, explains_a_timeout_by_what_the_functions_counted) {
  const symptom each = failed(cqe_syndrome::TransportRetryExceeded);
  EXPECT_EQ(only({each}).cause, "timeout");
  EXPECT_EQ(only({each}, {{"VF 1 of host1", {{"rx_steer_owner", 8}}}}).cause, "wrong_qp_owner");
  EXPECT_THAT(only({each}, {{"VF 1 of host1", {{"rx_steer_owner", 8}}}}).text,
              AllOf(HasSubstr("CQE 0x15"), HasSubstr("VF 1 of host1"), HasSubstr("8 times")));
  EXPECT_EQ(only({each}, {{"PF of host1", {{"rx_steer_overflow", 1}}}}).cause,
            "unknown_destination");
}

TEST(diagnosis, names_refusals_by_their_syndrome) {
  EXPECT_EQ(only({refused(command_syndrome::NotTrusted)}).cause, "trust_off");
  EXPECT_EQ(only({refused(command_syndrome::TableFull)}).cause, "partition_exhausted");
  EXPECT_EQ(only({refused(command_syndrome::NoPd)}).cause, "command_refused");
}

TEST(diagnosis, counts_a_cause_once_with_who_met_it_first) {
  symptom other = failed(cqe_syndrome::RemoteAccess);
  other.where = "tenant 1";
  const std::vector<finding> found =
      diagnose({failed(cqe_syndrome::RemoteAccess), failed(cqe_syndrome::WrFlushed), other}, {});
  ASSERT_EQ(found.size(), 1U) << "flushed work follows from what went wrong";
  EXPECT_EQ(found[0].count, 2U);
  EXPECT_EQ(found[0].where, "tenant 0 (VF 0 of host0)");
}

TEST(diagnosis, sees_in_the_counters_what_no_program_was_told) {
  const finding each = only({}, {{"VF 3 of host0", {{"db_ignored_owner", 2}}}});
  EXPECT_EQ(each.cause, "wrong_qp_owner");
  EXPECT_THAT(each.text, AllOf(HasSubstr("VF 3 of host0"), HasSubstr("db_ignored_owner")));
}

}  // namespace
}  // namespace carillon
