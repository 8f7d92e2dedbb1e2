// Another program must see the same numbers: the example of FORMAT.md is run as it stands there.
#include <cstdio>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trireme/io/file.hpp"

#include "checkpoint/element.hpp"
#include "unit/checkpoint/sample.hpp"
#include "unit/io/temporary_folder.hpp"

#ifdef TRIREME_H5PY
#define WITH_H5PY(name) name
#else
#define WITH_H5PY(name) DISABLED_##name
#define TRIREME_H5PY "python3"
#endif

namespace trireme::checkpoint::test {
namespace {

using testing::HasSubstr;

/// What `script` prints, run by Python with one argument.
std::string python(const std::string& script, const std::string& argument) {
  std::FILE* const pipe = ::popen(fmt::format(TRIREME_H5PY " '{}' '{}' 2>&1", script, argument).c_str(), "r");
  std::string output;
  for (int byte = std::fgetc(pipe); byte != EOF; byte = std::fgetc(pipe)) output += static_cast<char>(byte);
  EXPECT_EQ(::pclose(pipe), 0) << output;
  return output;
}

/// The Python block of FORMAT.md.
std::string example() {
  const std::string text = io::read_text(TRIREME_FORMAT_PAGE);
  const std::string fence = "```python\n";
  const std::size_t begin = text.find(fence) + fence.size();
  return text.substr(begin, text.find("```", begin) - begin);
}

class OtherPrograms : public testing::Test {
 protected:
  std::string run(const std::string& lines) {
    io::write_text_atomically(folder_ / "script.py", lines);
    return python(folder_ / "script.py", path_);
  }

  trireme::test::TemporaryFolder folder_;
  std::string path_ = save_sample(folder_ / "checkpoints", 100);
};

TEST_F(OtherPrograms, WITH_H5PY(TheExampleOfTheFormatPageRuns)) {
  Holding ones;
  ones.add({"weights/one", {1}, Dtype::f32}, {{0}, {1}});
  std::vector<double> value;
  to_doubles(Dtype::f32, ones.pieces()[0].data, 1, value);
  const std::string output = run(example());
  EXPECT_THAT(output, HasSubstr("step 100 samples 3200\n[run]\n"));
  EXPECT_THAT(output, HasSubstr("weights/embedding.weight fp32 [1021, 769] "));
  EXPECT_THAT(output, HasSubstr("weights/cube fp32 [3, 5, 7, 11] "));
  EXPECT_THAT(output, HasSubstr("weights/half bf16 [37, 41] "));
  const std::string line = "weights/one fp32 [1] ";
  ASSERT_THAT(output, HasSubstr(line));
  EXPECT_EQ(std::stod(output.substr(output.find(line) + line.size())), value[0]);
}

TEST_F(OtherPrograms, WITH_H5PY(TheMastersOfAHalfPrecisionRunAreItsWeights)) {
  EXPECT_EQ(run(R"(
import sys, h5py
with h5py.File(f"{sys.argv[1]}/index.h5") as index:
    same = index["masters"] == index["weights"] and index["masters/cube"] == index["weights/cube"]
    print(index.attrs["precision"].decode(), same)
)"),
            "bf16 True\n");
}

TEST_F(OtherPrograms, WITH_H5PY(EveryTensorIsWholeAndBitwiseThere)) {
  const Holding all = everything();
  for (const Piece& piece : all.pieces()) {
    std::string name = piece.name;
    for (char& c : name) c = c == '/' ? '+' : c;
    const auto bytes = static_cast<std::size_t>(piece.global_shape.size()) * size_of(piece.dtype);
    io::write_text_atomically(folder_ / name, std::string(static_cast<const char*>(piece.data), bytes));
  }
  const std::string output = run(fmt::format(R"(
import sys, h5py
count = 0
def check(name, item):
    global count
    if isinstance(item, h5py.Dataset) and not name.startswith(("table/", "deck", "tokenizer")):
        assert item.is_virtual, name
        assert item[...].tobytes() == open("{}/" + name.replace("/", "+"), "rb").read(), name
        count += 1
with h5py.File(sys.argv[1] + "/index.h5", "r") as index:
    index.visititems(check)
    assert index.attrs["loss_scale"] == 65536.0 / 3
    assert bytes(index["tokenizer"][...]) == b"a\0b\xff"
print(count, "tensors")
)",
                                             folder_.path()));
  EXPECT_EQ(output, fmt::format("{} tensors\n", all.pieces().size()));
}

}  // namespace
}  // namespace trireme::checkpoint::test
