// h5dump and h5py must open what we write, and we what h5py writes.
#include <cstdio>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trireme/base/error.hpp"
#include "trireme/hdf5/file.hpp"
#include "trireme/io/file.hpp"

#include "unit/io/temporary_folder.hpp"

#ifdef TRIREME_H5DUMP
#define WITH_H5DUMP(name) name
#else
#define WITH_H5DUMP(name) DISABLED_##name
#define TRIREME_H5DUMP "h5dump"
#endif
#ifdef TRIREME_H5PY
#define WITH_H5PY(name) name
#else
#define WITH_H5PY(name) DISABLED_##name
#define TRIREME_H5PY "python3"
#endif

namespace trireme::hdf5 {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// Standard output and errors of a shell command.
std::string output_of(const std::string& command) {
  std::string output;
  FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  for (int byte = fgetc(pipe); byte != EOF; byte = fgetc(pipe)) {
    output += static_cast<char>(byte);
  }
  EXPECT_EQ(pclose(pipe), 0) << command << "\n" << output;
  return output;
}

class OtherPrograms : public testing::Test {
 protected:
  ~OtherPrograms() override { EXPECT_EQ(open_objects(), 0); }

  void write_files() {
    const float half[] = {1, 2, 3};
    for (const char* name : {"s0.h5", "s1.h5"}) {
      Writer shard(folder_ / name);
      shard.create("/pieces/w", {1, 3}, Dtype::f32);
      shard.write("/pieces/w", half);
      shard.finish();
    }
    Writer writer(folder_ / "index.h5");
    writer.attribute("/", "deck", std::string("[run]\nname = \"größer\""));
    writer.attribute("/", "step", std::int64_t{100});
    writer.attribute("/", "loss_scale", 0.1);
    writer.create_virtual("/weights/w", {3, 3}, Dtype::f32,
                          {{"s0.h5", "/pieces/w", {0, 0}, {1, 3}},
                           {"s1.h5", "/pieces/w", {1, 0}, {1, 3}},
                           {"missing.h5", "/pieces/w", {2, 0}, {1, 3}}});
    const std::uint16_t one[] = {0x3c00, 0xbc00};
    writer.create("/half", {2}, Dtype::f16);
    writer.write("/half", one);
    writer.create("/brain", {2}, Dtype::bf16);
    writer.write("/brain", one);
    writer.create("/chunked", {3}, Dtype::i64, {2});
    const std::int64_t chunk[] = {5, 6};
    writer.write_chunk("/chunked", {0}, chunk, 16);
    writer.write_chunk("/chunked", {2}, chunk, 16);
    writer.create("/empty", {0, 4}, Dtype::f64);
    writer.finish();
  }

  std::string python(const std::string& lines) {
    io::write_text_atomically(folder_ / "script.py", "import h5py, numpy\n" + lines);
    return output_of("cd " + folder_.path() + " && " TRIREME_H5PY " script.py");
  }

  test::TemporaryFolder folder_;
};

TEST_F(OtherPrograms, WITH_H5DUMP(H5dumpShowsTheWholeFile)) {
  write_files();
  const std::string shown = output_of(std::string(TRIREME_H5DUMP) + " " + (folder_ / "index.h5"));
  EXPECT_THAT(shown, AllOf(HasSubstr("GROUP \"weights\""), HasSubstr("(1,0): 1, 2, 3"), HasSubstr("(2,0): nan"),
                           HasSubstr("DATASPACE  SIMPLE { ( 3, 3 ) / ( 3, 3 ) }"), HasSubstr("[run]")));
  EXPECT_THAT(output_of(std::string(TRIREME_H5DUMP) + " -H " + (folder_ / "s1.h5")), HasSubstr("H5T_IEEE_F32LE"));
}

TEST_F(OtherPrograms, WITH_H5PY(H5pySeesTensorsWholeAndNamedTypes)) {
  write_files();
  const std::string shown = python(R"(
f = h5py.File("index.h5", "r")
print(f["weights/w"][:2].tolist(), numpy.isnan(f["weights/w"][2]).all())
print(f["half"].dtype, f["half"][:].tolist(), f["brain"].dtype, f["brain"].attrs["dtype"])
print(f["chunked"][:].tolist(), f["chunked"].chunks, f["empty"].shape)
print(f.attrs["step"], f.attrs["loss_scale"], f.attrs["deck"])
print(f.userblock_size, [v.file_name for v in f["weights/w"].virtual_sources()])
)");
  EXPECT_EQ(shown,
            "[[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]] True\n"
            "float16 [1.0, -1.0] uint16 b'bf16'\n"
            "[5, 6, 5] (2,) (0, 4)\n"
            "100 0.1 b'[run]\\nname = \"gr\\xc3\\xb6\\xc3\\x9fer\"'\n"
            "512 ['s0.h5', 's1.h5', 'missing.h5']\n");
}

TEST_F(OtherPrograms, WITH_H5PY(FilesOfH5pyAreReadWithoutAUserBlock)) {
  python(R"(
f = h5py.File("a.h5", "w")
f["x/f32"] = numpy.arange(6, dtype="f4").reshape(2, 3)
f["x/f16"] = numpy.array([1, -1], dtype="f2")
f["x/i64"] = numpy.arange(4)
f.create_dataset("x/packed", data=numpy.arange(100, dtype="i4"), chunks=(10,), compression="gzip")
f.create_dataset("x/resizable", data=numpy.arange(4, dtype="u2"), maxshape=(None,))
f.attrs["text"] = "größer"
f.attrs["count"] = numpy.uint64(7)
f.attrs["huge"] = numpy.uint64(2**64 - 1)
f.attrs["several"] = [1, 2]
f.attrs["real"] = numpy.float32(0.5)
)");
  const Reader reader(folder_ / "a.h5", Reader::Verify::none);
  EXPECT_EQ(reader.metadata_hash(), io::Hash128{});
  std::vector<float> f32(6);
  reader.read("/x/f32", Dtype::f32, f32.data());
  EXPECT_THAT(f32, ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_EQ(reader.info("/x/f16").dtype, Dtype::f16);
  std::vector<std::int32_t> packed(100);
  reader.read("/x/packed", Dtype::i32, packed.data());
  EXPECT_EQ(packed[99], 99);
  EXPECT_THAT(reader.info("/x/resizable").extents, ElementsAre(4));
  EXPECT_EQ(reader.text_attribute("/", "text"), "größer");
  EXPECT_EQ(reader.integer_attribute("/", "count"), 7);
  EXPECT_EQ(reader.real_attribute("/", "real"), 0.5);
  EXPECT_THROW(static_cast<void>(reader.integer_attribute("/", "huge")), InputError);
  EXPECT_THROW(static_cast<void>(reader.integer_attribute("/", "several")), InputError);
  EXPECT_THROW(reader.read_chunk("/x/packed", {0}, packed.data(), 40), InputError);
  EXPECT_THROW(Reader{folder_ / "a.h5"}, InputError);
}

TEST_F(OtherPrograms, WITH_H5PY(StrangeObjectsAreRefusedNotFollowed)) {
  python(R"(
h5py.File("other.h5", "w")["x"] = numpy.arange(3)
f = h5py.File("a.h5", "w")
f["big_endian"] = numpy.arange(3, dtype=">f4")
f["i8"] = numpy.arange(3, dtype="i1")
f["words"] = ["a", "b"]
f["pair"] = numpy.zeros(3, dtype=[("a", "i4"), ("b", "f4")])
f["null"] = h5py.Empty("f4")
f["soft"] = h5py.SoftLink("/i8")
f["dangling"] = h5py.SoftLink("/nothing")
f["external"] = h5py.ExternalLink("other.h5", "/x")
f.create_dataset("outside", shape=(3,), dtype="f4", external=[("raw.bin", 0, 12)])
f.create_dataset("huge", shape=(2**40, 2**30), dtype="f4")
loop = f.create_group("loop")
loop["self"] = loop
)");
  const Reader reader(folder_ / "a.h5", Reader::Verify::none);
  const auto refusal = [&](const char* name) {
    try {
      static_cast<void>(reader.info(name));
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_THAT(refusal("/big_endian"), AllOf(HasSubstr("`/big_endian` in `"), HasSubstr("big-endian 4-byte float")));
  EXPECT_THAT(refusal("/i8"), HasSubstr("1-byte integer"));
  EXPECT_THAT(refusal("/words"), HasSubstr("string"));
  EXPECT_THAT(refusal("/pair"), HasSubstr("compound"));
  EXPECT_THAT(refusal("/null"), HasSubstr("has no shape"));
  EXPECT_THAT(refusal("/outside"), HasSubstr("outside the file"));
  EXPECT_THAT(refusal("/huge"), HasSubstr("impossible shape"));
  for (const char* link : {"/soft", "/dangling", "/external"}) {
    EXPECT_FALSE(reader.has(link)) << link;
    EXPECT_THAT(refusal(link), HasSubstr("has no `" + std::string(link))) << link;
  }
  try {
    static_cast<void>(reader.datasets("/"));
    FAIL();
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("groups without end"));
  }
}

}  // namespace
}  // namespace trireme::hdf5
