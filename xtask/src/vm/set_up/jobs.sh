# Runs the jobs that the host puts into /share, and leaves there what they print.
while :; do
    for job in /share/job.*; do
        [ -f "$job" ] || continue
        number=${job##*.}
        mv "$job" "/tmp/job.$number"
        (
            $JOB_SHELL "/tmp/job.$number" > "/tmp/out.$number" 2>&1
            status=$?
            cp "/tmp/out.$number" "/share/out.$number"
            echo "$status" > "/share/status.$number"
            rm -f "/tmp/job.$number" "/tmp/out.$number"
        ) &
    done
    sleep 0.1
done
