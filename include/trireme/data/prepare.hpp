#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trireme/comm/communicator.hpp"

namespace trireme::data {

struct PrepareOptions {
  std::string output;
  std::vector<std::string> inputs;  ///< text files, .npy, or Megatron prefixes (.bin/.idx)
  std::string tokenizer = "byte";   ///< byte | sentencepiece | ids
  std::int64_t vocab = 0;           ///< sentencepiece: size to train; ids: vocabulary (0: largest id + 1)
  std::string model;                ///< sentencepiece: a model file to load, or a dataset whose tokenizer to take
  std::string document_separator;   ///< text that divides documents within a file; empty: a file is a document
  std::string mask;                 ///< a .npy of uint8, one a token of the output: the loss mask
  bool sequence_starts = false;     ///< attention and positions start anew at document borders
  double skip_fraction = 0;         ///< leaves out this leading part of the inputs' bytes (or ids) ...
  double take_fraction = 1;         ///< ... and takes this part of them, for train and validation splits
  std::int64_t piece_bytes = 0;     ///< of the inputs in one part; 0: chosen by their size
};

/// Tokenizes the inputs into one dataset file; the ranks of `communicator` share the work, and any number of them makes
/// the same file. Fractions cut between characters, the same fraction always at the same byte: skip 0.95 goes on
/// exactly where take 0.95 ended. Separators belong to no document, empty documents leave no trace. Parts that an
/// interrupted run left in `<output>.parts` are used again when their inputs are still the same. Memory: some pieces
/// (the longest document, if the tokenizer lets a text be cut between documents only). Collective. Throws InputError
/// naming file, position and value.
void prepare(comm::Communicator& communicator, const PrepareOptions& options);

}  // namespace trireme::data
