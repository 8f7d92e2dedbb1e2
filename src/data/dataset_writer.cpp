#include "data/dataset_writer.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "trireme/base/error.hpp"
#include "trireme/hdf5/file.hpp"
#include "trireme/io/hash.hpp"

#include "data/format.hpp"

namespace trireme::data {
namespace {

/// A dataset that grows from front to back, hashed block by block.
class HashedRow {
 public:
  HashedRow(hdf5::Writer& writer, std::string name, Dtype dtype, std::int64_t num_elements)
      : writer_(writer),
        name_(std::move(name)),
        element_bytes_(static_cast<std::int64_t>(size_of(dtype))),
        num_elements_(num_elements) {
    writer_.create(name_, {static_cast<std::uint64_t>(num_elements)}, dtype);
  }

  void add(const void* data, std::int64_t num) {
    TRIREME_EXPECT(written_ + num <= num_elements_);
    if (num == 0) return;
    writer_.write_range(name_, static_cast<std::uint64_t>(written_), static_cast<std::uint64_t>(num), data);
    hash(static_cast<const char*>(data), num * element_bytes_);
    written_ += num;
  }

  void finish() {
    TRIREME_EXPECT(written_ == num_elements_);
    if (block_bytes_ > 0) close_block();
    const std::string table = hashes_of(name_);
    writer_.create(table, {hashes_.size() / 2, 2}, Dtype::u64);
    writer_.write(table, hashes_.data());
    writer_.attribute("/", hash_attribute_of(name_),
                      io::hash128(hashes_.data(), hashes_.size() * sizeof(std::uint64_t)).text());
  }

 private:
  void hash(const char* data, std::int64_t bytes) {
    while (bytes > 0) {
      const std::int64_t now = std::min(bytes, hash_block_bytes - block_bytes_);
      hasher_->add(data, static_cast<std::size_t>(now));
      block_bytes_ += now;
      data += now;
      bytes -= now;
      if (block_bytes_ == hash_block_bytes) close_block();
    }
  }

  void close_block() {
    const io::Hash128 value = hasher_->value();
    hashes_.push_back(value.low);
    hashes_.push_back(value.high);
    hasher_.emplace();
    block_bytes_ = 0;
  }

  hdf5::Writer& writer_;
  std::string name_;
  std::int64_t element_bytes_;
  std::int64_t num_elements_;
  std::int64_t written_ = 0;
  std::int64_t block_bytes_ = 0;  ///< of the block under way
  std::optional<io::Hasher> hasher_{std::in_place};
  std::vector<std::uint64_t> hashes_;  ///< low and high word of each block
};

}  // namespace

struct DatasetWriter::State {
  TokenFileInfo info;
  hdf5::Writer writer;
  HashedRow tokens;
  HashedRow documents;
  std::optional<HashedRow> loss_mask;

  explicit State(const TokenFileInfo& wanted)
      : info(wanted),
        writer(info.path),
        tokens(writer, "tokens", token_dtype(info.vocab), info.num_tokens),
        documents(writer, "documents", Dtype::i64, info.num_documents) {
    if (info.has_loss_mask) loss_mask.emplace(writer, "loss_mask", Dtype::u8, info.num_tokens);
  }

  void write_attributes() {
    writer.attribute("/", "format", format_name);
    writer.attribute("/", "version", format_version);
    writer.attribute("/", "vocab", info.vocab);
    writer.attribute("/", "num_tokens", info.num_tokens);
    writer.attribute("/", "num_documents", info.num_documents);
    writer.attribute("/", "tokenizer", info.tokenizer_kind);
    writer.attribute("/", "sequence_starts", std::int64_t{info.has_sequence_starts});
    if (info.tokenizer_model.empty()) return;
    writer.write_bytes("tokenizer_model", info.tokenizer_model);
    writer.attribute("/", hash_attribute_of("tokenizer_model"),
                     io::hash128(info.tokenizer_model.data(), info.tokenizer_model.size()).text());
  }
};

DatasetWriter::DatasetWriter(const TokenFileInfo& info) : state_(std::make_unique<State>(info)) {}
DatasetWriter::~DatasetWriter() = default;

void DatasetWriter::add_tokens(const void* tokens, std::int64_t num) {
  state_->tokens.add(tokens, num);
}

void DatasetWriter::add_documents(std::span<const std::int64_t> starts) {
  state_->documents.add(starts.data(), static_cast<std::int64_t>(starts.size()));
}

void DatasetWriter::add_loss_mask(std::span<const std::uint8_t> mask) {
  state_->loss_mask->add(mask.data(), static_cast<std::int64_t>(mask.size()));
}

void DatasetWriter::finish() {
  state_->tokens.finish();
  state_->documents.finish();
  if (state_->loss_mask) state_->loss_mask->finish();
  state_->write_attributes();
  state_->writer.finish();
}

}  // namespace trireme::data
