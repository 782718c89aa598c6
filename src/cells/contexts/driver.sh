# A bash that keeps what each call has left (cells/contexts/context.h). An interactive bash comes to its prompt after every
# interrupt, whatever it was in the middle of; PROMPT_COMMAND is therefore where requests are taken. `hc_busy` set there
# means that something threw us there: an interrupt, or an error that ends an interactive shell's line. What bash says of
# having no terminal went to nowhere; its stderr waits on 14. The code has none of these descriptors. (They are closed for a group, not
# for the eval itself: there an `exec` with a redirection in the code would make it last.)
exec 18<&HC_REQUESTS 19>&HC_ANSWERS 17<&HC_SCRATCH HC_REQUESTS<&- HC_ANSWERS>&- HC_SCRATCH<&- 2>&14 14>&-
unset HISTFILE
HISTSIZE=0 PS1= PS2= hc_busy= hc_status=0 hc_nonce= hc_code= hc_length=
hc_before() { return "$hc_status"; }
hc_after() {
  # Neither traced nor ended by what the code has set.
  { builtin local -; builtin set +xeu; } 2>/dev/null
  hc_busy=
  hc_tidy
  IFS= builtin read -r -d '' -u 18 hc_nonce || builtin exit 0
  builtin printf -v hc_length 'exit - %d\n%d' "${#hc_status}" "$hc_status"
  builtin printf 'R %s %d\n%s' "$hc_nonce" "${#hc_length}" "$hc_length" >&19
}
hc_serve() {
  local hc_last=$?
  if [[ -n $hc_busy ]]; then
    hc_status=$(( hc_last ? hc_last : 130 ))
    hc_after
  fi
  while IFS= builtin read -r -N 10 -u 18 hc_length && IFS= builtin read -r -d '' -u 18 hc_code; do
    builtin trap - INT
    hc_busy=1
    builtin printf 'B - 0\n' >&19
    hc_before
    { builtin eval "$hc_code"; } 17<&- 18<&- 19>&-
    hc_status=$?
    hc_after
  done
  builtin exit 0
}
HC_JOBS
readonly -f hc_before hc_after hc_serve hc_tidy
export -n PROMPT_COMMAND
PROMPT_COMMAND=hc_serve
printf 'H - 0\n' >&19
hc_serve
