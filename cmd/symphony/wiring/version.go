package wiring

import (
	"fmt"
	"runtime/debug"
	"strings"
)

// Version returns the version of this program; dev for none.
func Version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "dev"
}

// BuildVersion returns the version for --version, with the commit, the Go release and the
// platform of the binary.
func BuildVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return Version()
	}
	of := make(map[string]string)
	for _, s := range info.Settings {
		of[s.Key] = s.Value
	}
	revision := of["vcs.revision"]
	revision = revision[:min(len(revision), 12)]
	if revision != "" && of["vcs.modified"] == "true" {
		revision += " with changes"
	}
	var details []string
	for _, detail := range []string{revision, info.GoVersion, of["GOOS"] + "/" + of["GOARCH"]} {
		if detail != "" {
			details = append(details, detail)
		}
	}
	return fmt.Sprintf("%s (%s)", Version(), strings.Join(details, ", "))
}
