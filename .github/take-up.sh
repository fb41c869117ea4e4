#!/bin/sh
# Takes up the evidence that an earlier run for the same proposal has paid for: the newest artifact called $NAME.
# A fork can give its artifacts any name, so only those of runs on a branch of this repository count.
set -eu
run=$(gh api "repos/$GITHUB_REPOSITORY/actions/artifacts?name=$NAME&per_page=100" --jq '
  [.artifacts[]
   | select(.expired | not)
   | select(.workflow_run.head_repository_id == .workflow_run.repository_id)
   | select(.workflow_run.head_branch == env.BRANCH)]
  | max_by(.created_at) | .workflow_run.id // empty')
if [ -n "$run" ]; then
  gh run download "$run" --name "$NAME" --dir .
  echo "Evidence of run $run is taken up."
fi
