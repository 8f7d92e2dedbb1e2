#include "trireme/model/options.hpp"

namespace trireme::model {

ModelOptions resolved(ModelOptions options) {
  if (options.kv_heads == 0) options.kv_heads = options.heads;
  if (options.head_width == 0 && options.heads > 0) options.head_width = options.width / options.heads;
  if (options.mlp_width == 0) options.mlp_width = 4 * options.width;
  return options;
}

}  // namespace trireme::model
