package delivery

import "sync"

// The files of builtIn are known to be obeyed by a server, a tool or an agent, from a branch or
// a checkout, as of November 2026. Lists of others to compare them with are Living Off The
// Pipeline (boostsecurityio/lotp), for tools that run commands in a file of the repository, and
// the agents that intellectronica/ruler writes rules for. A file is refused if it takes effect
// before a person has read the pull request: a server runs it from the branch, or an editor, a
// shell or an agent obeys it when somebody opens the checkout. It is shown if people expect an
// agent to change it: files for the build, the installation and the deployment.

// obeyedByServers are files that a server runs or obeys from a branch, most of them with its
// secrets, and files that merge or approve by themselves.
var obeyedByServers = []string{
	// The forge, and services of continuous integration.
	".github/**", ".gitlab-ci.yml", "*.gitlab-ci.yml", ".gitlab/**", ".gitea/**", ".forgejo/**", ".circleci/**", ".travis.yml", "azure-pipelines*.y*ml", ".azure-pipelines/**", ".azuredevops/**", "Jenkinsfile*", ".buildkite/**",
	".woodpecker.y*ml", ".woodpecker/**", ".drone.y*ml", ".drone.jsonnet", ".drone.star", ".cirrus.y*ml", ".cirrus.star", ".semaphore/**", ".teamcity/**", "bitbucket-pipelines.yml", "appveyor.yml", ".appveyor.yml",
	"cloudbuild*.{yaml,yml,json}", ".cloudbuild/**", "buildspec*.y*ml", ".codebuild/**", ".tekton/**", "{,.}zuul.yaml", "{,.}zuul.d/**", ".builds/**", ".build.yml", ".prow.y*ml", ".ci-operator.yaml",
	"codeship-*.yml", "codemagic.yaml", "bitrise.y*ml", "ci_scripts/**", "wercker.yml", "shippable.yml", ".scrutinizer.yml", "screwdriver.yaml", ".vela.y*ml", ".taskcluster.yml", ".evergreen.y*ml", "*.gocd.{yaml,yml,json}",
	".harness/**", ".buddy/**", "buddy.yml", ".onedev-buildspec.yml", ".cnb.yml", ".packit.y*ml", "packit.y*ml", ".copr/**", ".laminar/**", ".testing-farm.yaml", "atlantis.y*ml", ".spacelift/**",

	// Services that build and deploy each branch.
	"netlify.toml", "vercel.{json,ts}", "/now.json", "render.y*ml", "amplify.y*ml", ".readthedocs.y*ml", "readthedocs.y*ml", ".platform.app.yaml", ".platform/**", ".upsun/**", "/railway.{json,toml}", "zeabur.json", "koyeb.y*ml",
	".do/**", "/static.json", "heroku.yml", ".lagoon.yml", "pantheon.yml", "pantheon.upstream.yml", "acquia-pipelines.y*ml", ".magento.app.yaml", ".magento/**", "wasmer.toml",

	// Settings of bots that merge, approve or review.
	".mergify.yml", ".mergify/**", "renovate.json*", ".renovaterc*", ".kodiak.toml", "bors.toml", ".bulldozer.yml", ".policy.yml", ".aviator/**", ".trunk/**", "CODEOWNERS",
	".coderabbit.y*ml", ".pr_agent.toml", "greptile.json", "ellipsis.yaml", ".sourcery.y*ml", ".korbit.y*ml", ".sweep.yaml", "/sweep.yaml", ".gitstream/**", "gitstream.cm", ".cm/**",
}

// obeyedByAgents are the rules, settings and tools of agents and assistants.
var obeyedByAgents = []string{
	"WORKFLOW.md", "**/.symphony/**", "AGENTS.md", "AGENTS.{override,local}.md", "CLAUDE.md", "CLAUDE.local.md", "GEMINI.md", "QWEN.md", "SKILL.md",
	"/{AGENT,WARP,GROK,CRUSH,IFLOW,CODEBUDDY,JULES,replit}.md", // pages in other folders have these names too
	"**/.codex/**", "**/.agents/**", "**/.agent/**", "**/.claude/**", "**/.claude-plugin/**", "**/.cursor/**", "**/.gemini/**", "**/.aider*", "**/.mcp.json", "**/.mcp/**", "**/.continue/**", ".continuerc.json", "**/.windsurf/**",
	".cursorrules", ".windsurfrules", ".rules", ".clinerules*", "**/.clinerules/**", "**/.cline/**", "**/.roo/**", ".roorules*", ".roomodes", "**/.kilocode/**", ".kilocodemodes", ".kilocoderules*", "**/.kiro/**", "**/.junie/**", "**/.amazonq/**",
	"**/.augment/**", ".augment-guidelines", "**/.qwen/**", "**/.opencode/**", "opencode.json*", "**/.goose/**", ".goosehints", "**/.factory/**", "**/.trae/**", "**/.crush/**", "{,.}crush.json", "**/.warp/**",
	"**/.openhands/**", ".openhands_instructions", "**/.devin/**", "**/.jules/**", "**/.tabnine/**", "**/.cody/**", "**/.sourcegraph/**", "**/.copilot/**", "copilot-instructions.md", "**/.antigravity/**",
	"**/.serena/**", "**/.specify/**", "**/.firebender/**", "firebender.json", "**/.pearai/**", "**/.amp/**", "**/.grok/**", "**/.rovodev/**", "**/.lingma/**", "**/.iflow/**", "**/.codebuddy/**",
	"**/.qoder/**", "**/.kimi/**", "**/.zencoder/**", "**/.vibe/**", "**/.bob/**", "**/.xcodebuildmcp/**", "**/.ruler/**", "**/.promptx/**", "**/.superdesign/**",
}

// obeyedOnOpening are files that run when somebody opens, enters or commits in a checkout.
var obeyedOnOpening = []string{
	"**/.githooks/**", "**/.git-hooks/**", "**/.husky/**", ".huskyrc*", "**/.cargo-husky/**", ".rusty-hook.toml", ".pre-commit-config.y*ml", ".pre-commit-hooks.yaml", "prek.toml", "{,.}lefthook{,-local}.{yml,yaml,toml,json}",
	".overcommit.yml", "{,.}simple-git-hooks.*", "captainhook.json", "grumphp.y*ml", "hk.pkl", ".gitmodules", ".lfsconfig", ".gitconfig",
	"**/.vscode/**", "*.code-workspace", "**/.vs/**", "**/.idea/**", "**/.run/**", "**/.fleet/**", "**/.zed/**", "**/.nova/**", "**/.theia/**", "**/.idx/**", "*.sublime-project", ".dir-locals.el", ".projectile",
	"**/.devcontainer/**", ".devcontainer.json", ".gitpod.*", ".replit", "replit.nix", "**/.codesandbox/**", "sandbox.config.json", ".stackblitzrc", "**/.codeboarding/**", "devfile.yaml", ".devfile.yaml",
	".envrc", ".exrc", ".{,l,n}vimrc", ".nvim.lua", ".gdbinit", ".lldbinit", ".Rprofile", ".irbrc", ".pryrc", ".psqlrc", ".autoenv*", ".tmuxinator.yml", ".smug.yml",
	"sitecustomize.py", "usercustomize.py",
	".pnpmfile.*", "pnpmfile.*", ".yarn/{releases,plugins,sdks}/**",
}

// buildsOrInstalls are files that control downloads, builds, runs and deployments.
var buildsOrInstalls = []string{
	".gitattributes", ".npmrc", ".yarnrc", ".yarnrc.yml", ".pypirc", "pip.conf", "bunfig.toml", ".bunfig.toml",
	"package.json", "package-lock.json", "npm-shrinkwrap.json", "yarn.lock", "pnpm-lock.yaml", "pnpm-workspace.yaml", "bun.lock", "bun.lockb", "deno.json*", "deno.lock", "jsr.json", "lerna.json", "nx.json", "turbo.json",
	"go.mod", "go.sum", "go.work", "go.work.sum", "Cargo.toml", "Cargo.lock", "build.rs", "**/.cargo/**", "rust-toolchain*",
	"pyproject.toml", "setup.py", "setup.cfg", "requirements*.txt", "constraints*.txt", "Pipfile", "Pipfile.lock", "poetry.lock", "poetry.toml", "uv.lock", "uv.toml", "pdm.lock", "pixi.{toml,lock}", "hatch.toml", "environment.y*ml", "tox.ini", "noxfile.py", ".pylintrc", "conftest.py", "*.pth",
	"Gemfile", "Gemfile.lock", "*.gemspec", ".bundle/**", "Rakefile", ".rspec", "composer.json", "composer.lock", "mix.exs", "mix.lock", "rebar.config", "rebar.lock",
	"pom.xml", ".mvn/**", "mvnw", "mvnw.cmd", "build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts", "init.gradle*", "gradle.lockfile", "gradle.properties", "gradle-wrapper.*", "gradlew", "gradlew.bat", "libs.versions.toml", "buildSrc/**",
	"build.sbt", "project/*.{sbt,scala,properties}", "deps.edn", "project.clj", "build.xml", "ivy.xml", ".sdkmanrc",
	"*.{cs,fs,vb}proj", "*.{props,targets}", "packages.lock.json", "NuGet.config", "global.json", "packages.config", "dotnet-tools.json",
	"Package.swift", "Package.resolved", "Podfile", "Podfile.lock", "Cartfile*", "Fastfile", "*.pbxproj", "pubspec.y*ml", "pubspec.lock", "stack.yaml", "*.cabal", "cabal.project*", "shard.yml", "dub.{json,sdl}", "build.zig", "build.zig.zon",
	"conanfile.*", "vcpkg*.json", "CMakePresets.json", "CMakeUserPresets.json", "{,.}bazelrc", ".bazelversion", "tools/bazel", "WORKSPACE", "WORKSPACE.bazel", "MODULE.bazel", "MODULE.bazel.lock", "BUILD.bazel", ".buckconfig", ".pants.toml", "pants.toml",
	"flake.nix", "flake.lock", "{shell,default,devenv}.nix", "devenv.yaml", "devbox.json", "Brewfile", "Vagrantfile", "Tiltfile", "Earthfile", "skaffold.y*ml", "dagger.json",
	"Dockerfile*", "*.dockerfile", "Containerfile*", "docker-bake.*", "docker-compose*.y*ml", "compose*.y*ml", "{GNU,}Makefile", "Justfile", "Taskfile.y*ml", "Procfile*", "/app.{json,yaml}", "fly.toml", "nixpacks.toml", "/project.toml", "wrangler.{toml,json,jsonc}", "firebase.json", ".firebaserc",
	"serverless.y*ml", "samconfig.toml", "cdk.json", "Pulumi*.yaml", ".terraform.lock.hcl", "terragrunt.hcl", "Chart.yaml", "helmfile.y*ml", "kustomization.y*ml",
	"action.y*ml", "mise*.toml", ".mise*.toml", ".tool-versions", ".{node,python,ruby,java,go}-version", ".nvmrc", "lint-staged.config.*", ".lintstagedrc*", "commitlint.config.*", ".releaserc*", ".goreleaser.y*ml", ".changeset/config.json", "release-please-config.json",
	"codecov.y*ml", ".codecov.y*ml", ".codeclimate.yml", ".deepsource.toml", "sonar-project.properties", ".snyk", ".trivyignore*", ".gitleaks*", ".semgrepignore", "osv-scanner.toml", "mcp.json",
	"LICENSE*", "LICENCE*", "COPYING*",
}

// builtIn returns the rules that every delivery obeys unless WORKFLOW.md says
// otherwise.
var builtIn = sync.OnceValue(func() (rules []Rule) {
	for _, group := range []struct {
		patterns   []string
		protection Protection
	}{{obeyedByServers, Refuse}, {obeyedByAgents, Refuse}, {obeyedOnOpening, Refuse}, {buildsOrInstalls, Review}} {
		for _, pattern := range group.patterns {
			rules = append(rules, Rule{pattern, group.protection})
		}
	}
	return rules
})
