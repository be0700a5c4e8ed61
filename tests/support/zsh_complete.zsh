#!/usr/bin/zsh -f
# What a zsh in a terminal makes of lines when Tab is pressed at their end: zsh_complete.zsh SETUP
# LINE... It first runs SETUP, which loads the completion. Prints what the terminal showed, for each
# line up to "<line:WHAT IT BECAME>".
zmodload zsh/zpty
zpty terminal zsh -f -i
# Control-X prints the line as it is; the marks are written so that their echo does not match them.
zpty -w terminal "TERM=dumb PS1= LISTMAX=1000; stty rows 200 cols 200 -echo
show() { print -r -- '<line'\":\$BUFFER>\"; BUFFER= }; zle -N show; bindkey '^X' show
$1
print '<rea''dy>'"
zpty -r terminal shown '*<ready>*'
print -r -- "$shown"
for line in "${@:2}"; do
  zpty -w -n terminal "$line"$'\t\x18'
  zpty -r terminal shown '*<line:*>*'
  print -r -- "${shown//$'\r'/}"
done
zpty -d terminal
