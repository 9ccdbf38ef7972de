# shellcheck shell=bash disable=SC2034,SC2207,SC2317 # the script before this one reads the results
# Without the package bash-completion no function splits the line into words or lists
# files. These take their place.
__symphony_init_completion()
{
    COMPREPLY=()
    declare -F _filedir >/dev/null || _filedir() { __symphony_files "$@"; }
    if declare -F _get_comp_words_by_ref >/dev/null; then
        _get_comp_words_by_ref "$@" cur prev words cword
        return
    fi
    # bash also splits at = and :, where no new word of the program begins.
    local i word last rest=${COMP_LINE:0:COMP_POINT}
    words=()
    for ((i = 0; i <= COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        last=$((${#words[@]} - 1))
        if ((i > 0)) && [[ $rest != [[:blank:]]* ]]; then
            words[last]=${words[last]}$word
        else
            words+=("$word")
        fi
        rest=${rest#"${rest%%[![:blank:]]*}"}
        rest=${rest#"$word"}
    done
    cword=$((${#words[@]} - 1)) prev=
    cur=${words[cword]}
    ((cword == 0)) || prev=${words[cword - 1]}
}

# Lists files, folders for -d, or folders and the files with the given ending.
__symphony_files()
{
    local IFS=$'\n'
    [[ $(type -t compopt) != builtin ]] || compopt -o filenames 2>/dev/null
    case ${1-} in
    "") COMPREPLY+=($(compgen -f -- "$cur")) ;;
    -d) COMPREPLY+=($(compgen -d -- "$cur")) ;;
    *) COMPREPLY+=($(compgen -d -- "$cur") $(compgen -f -X "!*.${1%|}" -- "$cur")) ;;
    esac
}
