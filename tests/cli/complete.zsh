# What zsh makes of each LINE at a TAB, with the completion of FOLDER: a shell of its own, on a
# terminal of its own, which says what it has when ^T is typed.
# usage: zsh -f complete.zsh FOLDER LINE...
zmodload zsh/zpty || exit 3
export TERM=dumb ZDOTDIR=$(mktemp -d) COLUMNS=500
cat >$ZDOTDIR/.zshrc <<END
PS1= RPS1=
unsetopt prompt_cr prompt_sp
fpath=(${1:a} \$fpath)
autoload -U compinit
compinit -u -D
bindkey '^I' complete-word
bindkey '^T' tell
tell() { print -r -- "<<\$BUFFER>>"; BUFFER= }
zle -N tell
zle-line-init() { print ready }
zle -N zle-line-init
END
zpty shell zsh -i -d
zpty -r shell text '*ready*'
for line in "${@[2,-1]}"; do
	zpty -w -n shell $line$'\t\x14'
	zpty -r shell text '*<<*>>*'
	text=${text##*<<}
	print -r -- ${text%%>>*}
done
zpty -d shell
rm -r $ZDOTDIR
