// The HDF5 library crashes when a write of its metadata fails: it must never see one.
#include <cerrno>
#include <cstring>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trireme/base/error.hpp"
#include "trireme/hdf5/file.hpp"
#include "trireme/io/file.hpp"

#include "unit/io/temporary_folder.hpp"

namespace trireme::hdf5 {
namespace {

using testing::HasSubstr;

/// Raw data, chunks, many small objects and attributes in turn.
void write_all(Writer& writer) {
  const std::vector<float> values(3000, 1.5F);
  for (int i = 0; i < 20; ++i) {
    const std::string name = "/g" + std::to_string(i % 3) + "/w" + std::to_string(i);
    writer.create(name, {3000}, Dtype::f32);
    writer.attribute(name, "number", std::int64_t{i});
    writer.write(name, values.data());
  }
  writer.create("/chunked", {100}, Dtype::f32, {10});
  for (std::uint64_t begin = 0; begin < 100; begin += 10) {
    writer.write_chunk("/chunked", {begin}, values.data(), 40);
  }
  writer.write_bytes("/text", std::string(5000, 'x'));
}

class FullDisk : public testing::Test {
 protected:
  ~FullDisk() override { io::set_fault_hook({}); }

  /// Writes a file while the calls [first, first + times) of that name fail; what was thrown, or "".
  std::string failing(const char* call, int error, int first, int times) {
    int turn = 0;
    io::set_fault_hook([&](const char* now, const std::string&, std::size_t*) {
      return std::strcmp(now, call) == 0 && turn++ >= first && turn <= first + times ? error : 0;
    });
    std::string words;
    try {
      Writer writer(path_);
      write_all(writer);
      writer.finish();
    } catch (const SystemError& failure) {
      words = failure.what();
    }
    io::set_fault_hook({});
    calls_ = turn;
    return words;
  }

  test::TemporaryFolder folder_;
  std::string path_ = folder_ / "a.h5";
  int calls_ = 0;
};

TEST_F(FullDisk, AtAnyWriteFinishThrowsItAndNothingIsLeftOpen) {
  ASSERT_EQ(failing("pwrite", ENOSPC, 1 << 30, 0), "");
  const int writes = calls_;
  ASSERT_GT(writes, 30);
  for (const int times : {1, 1 << 30}) {
    for (int first = 0; first < writes; ++first) {
      EXPECT_THAT(failing("pwrite", ENOSPC, first, times),
                  AllOf(HasSubstr(path_), HasSubstr("No space left on device"), HasSubstr("free ")))
          << "write " << first;
      EXPECT_EQ(open_objects(), 0);
      EXPECT_THROW(verify_user_block(path_), InputError) << "write " << first;
    }
  }
}

TEST_F(FullDisk, AFailedSyncCloseOrOpenIsTold) {
  for (const char* call : {"fsync", "close", "open"}) {
    EXPECT_THAT(failing(call, EIO, 0, 1), AllOf(HasSubstr(path_), HasSubstr(call), HasSubstr("Input/output error")));
    EXPECT_EQ(open_objects(), 0);
  }
}

TEST_F(FullDisk, AFailedReadIsTheLibrarysInnermostCause) {
  ASSERT_EQ(failing("pwrite", ENOSPC, 1 << 30, 0), "");
  const Reader reader(path_);
  io::set_fault_hook(
      [](const char* call, const std::string&, std::size_t*) { return std::strcmp(call, "pread") == 0 ? EIO : 0; });
  std::vector<float> values(3000);
  try {
    reader.read("/g1/w1", Dtype::f32, values.data());
    FAIL();
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr(path_), HasSubstr("Input/output error")));
  }
}

}  // namespace
}  // namespace trireme::hdf5
