package git

import (
	_ "embed"
	"slices"
	"strings"
)

// The agent's git keeps files in Git LFS as pointers by a filter of ours, which is a shell
// script in the configuration: no other program is needed. If git-lfs is installed for all
// users, the agent's git runs that instead; it keeps objects in the same place.
//
// The filter runs inside the sandbox alone. Its files there are the agent's work, and are
// checked like all of it.

//go:embed lfs_filter.sh
var lfsFilter string

// lfsSettings returns the keys and values of git's configuration for files in Git LFS, in
// a repository whose objects are kept.
func lfsSettings() []string {
	return []string{
		"filter.lfs.clean", "mode=clean\n" + lfsFilter,
		"filter.lfs.smudge", "mode=smudge\n" + lfsFilter,
		"filter.lfs.required", "true",
		"lfs.skipdownloaderrors", "true", // git-lfs has no network in the sandbox
	}
}

// lfsConfig returns the sections of a repository's configuration for files in Git LFS.
func lfsConfig() string {
	var text strings.Builder
	for pair := range slices.Chunk(lfsSettings(), 2) {
		dot := strings.LastIndexByte(pair[0], '.')
		section, name, _ := strings.Cut(pair[0][:dot], ".")
		if name != "" {
			section += ` "` + name + `"`
		}
		value := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`).Replace(pair[1])
		text.WriteString("[" + section + "]\n\t" + pair[0][dot+1:] + ` = "` + value + "\"\n")
	}
	return text.String()
}

// lfsHarvestEnv is the environment of a harvest that takes files in Git LFS as pointers.
var lfsHarvestEnv = []string{
	"GIT_CONFIG_COUNT=2",
	"GIT_CONFIG_KEY_0=filter.lfs.clean", "GIT_CONFIG_VALUE_0=mode=point\nfile=%f\n" + lfsFilter,
	"GIT_CONFIG_KEY_1=filter.lfs.required", "GIT_CONFIG_VALUE_1=true",
}
