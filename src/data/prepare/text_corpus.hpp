#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "trireme/data/prepare.hpp"
#include "trireme/io/file.hpp"
#include "trireme/text/tokenizer.hpp"

#include "data/prepare/piece.hpp"
#include "data/prepare/text_cut.hpp"

namespace trireme::data {

/// Text files as pieces. Borders of pieces depend on files, separator and `cuts` only.
class TextCorpus final : public Corpus {
 public:
  /// cuts: where the tokenizer allows to cut. must_be_utf8: malformed text is refused when it is read.
  TextCorpus(const PrepareOptions& options, text::Cuts cuts, bool must_be_utf8);

  [[nodiscard]] std::int64_t num_pieces() const override { return num_pieces_; }
  [[nodiscard]] Piece read(std::int64_t piece) const override;
  [[nodiscard]] std::int64_t num_bytes() const override { return range_.end - range_.begin; }
  [[nodiscard]] std::int64_t piece_bytes() const noexcept { return piece_bytes_; }

 private:
  struct Cut {
    std::int64_t position = 0;
    bool starts_document = false;
  };
  [[nodiscard]] Cut cut_at(std::int64_t nominal, text::Cuts cuts) const;
  [[nodiscard]] Cut border(std::int64_t piece) const;
  [[nodiscard]] std::string read_segment(const Segment& segment) const;
  void add_documents(std::string_view text, bool starts_document, Piece& piece) const;

  std::vector<io::File> files_;
  std::vector<std::int64_t> firsts_;  ///< where each file begins, and the end
  std::string separator_;
  text::Cuts cuts_;
  bool must_be_utf8_;
  Range range_;
  std::int64_t piece_bytes_ = 0;
  std::int64_t num_pieces_ = 0;
};

}  // namespace trireme::data
