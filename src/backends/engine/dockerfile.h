// Recipes of images: made from a list of packages, or read; and names of images by what is in a recipe.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "hotcell/result.h"

namespace hotcell::backends {

struct ImageRecipe {
  std::string base;                       // the image it stands on
  std::vector<std::string> packages;      // of the base's own package manager (Debian's)
  std::string user = "cell";              // who programs run as; never root
  unsigned uid = 1000;
};

// A name that is no name of a package, an image or a user is refused: it would be a line of the recipe.
Result<std::string> dockerfile_for(const ImageRecipe& recipe);

// NAME:twelve hexadecimal digits of the recipe's text.
std::string image_tag(std::string_view name, std::string_view dockerfile);

// A recipe is all that the engine is sent: what COPY or ADD would take from the folder beside it is refused, in one sentence. From another
// stage or image (--from) and from URLs there is something to take.
Result<void> check_recipe(std::string_view dockerfile);

// A folder with nothing but the recipe in it, as a tar archive: what an engine builds from.
std::string build_context(std::string_view dockerfile);

}  // namespace hotcell::backends
