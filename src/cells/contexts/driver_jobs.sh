# What bash knows as jobs. Whatever has ended stays in its table until a prompt is shown, and here none ever is: `jobs` would
# list each finished command, and a first job in the background would not be %1. Jobs of the user's are what still ran when a
# command was over, and what was put into the background last; of the rest, what has ended is forgotten. Nothing is forked for that:
# a cell may have no process left. HC_NOTES is a file of nobody else's; a pipe would be full of a long list. (A function `jobs`
# could do it in the middle of a command, too, but bash lets a function in a pipe know no jobs.)
hc_background=' '
hc_tidy() {
  builtin local -a hc_all hc_alive
  builtin local hc_job hc_live hc_kept=' ' IFS=' '
  hc_all=() hc_alive=()
  builtin jobs -p >|/proc/self/fd/HC_NOTES && builtin mapfile -t hc_all </proc/self/fd/HC_NOTES || return 0
  [[ ${#hc_all[@]} -gt 0 ]] || return 0
  { builtin jobs -rp; builtin jobs -sp; } >|/proc/self/fd/HC_NOTES && builtin mapfile -t hc_alive </proc/self/fd/HC_NOTES || return 0
  hc_live=" ${hc_alive[*]} ${!:-} "
  for hc_job in "${hc_all[@]}"; do
    if [[ $hc_live$hc_background == *" $hc_job "* ]]; then
      hc_kept+="$hc_job "
    else
      builtin disown "$hc_job"
    fi
  done
  hc_background=$hc_kept
  return 0
} 2>/dev/null
