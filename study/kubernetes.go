package study

import "strconv"

// Containerfile describes a container image that holds only the program, a static binary.
const Containerfile = `# CGO_ENABLED=0 go build -trimpath -o vti ./cmd/vti, then build this beside the binary.
FROM scratch
COPY vti /vti
ENTRYPOINT ["/vti"]
`

const kubernetesJob = `apiVersion: batch/v1
kind: Job
metadata:
  name: {{.Name}}
  labels:
    app.kubernetes.io/name: vti
spec:
  completionMode: Indexed
  completions: {{.Chunks}}
  parallelism: {{.Running}}
  # An index is tried again after a crash or a kill. Exit status 1 says that tasks have failed and are
  # recorded as such, which a second run would not change.
  backoffLimitPerIndex: 6
  podFailurePolicy:
    rules:
      - action: FailIndex
        onExitCodes:
          containerName: vti
          operator: In
          values: [1]
      - action: Ignore # pods that were evicted or preempted
        onPodConditions:
          - type: DisruptionTarget
            status: "True"
  template:
    metadata:
      labels:
        app.kubernetes.io/name: vti
    spec:
      restartPolicy: Never
      activeDeadlineSeconds: {{.Seconds}}
      containers:
        - name: vti
          image: {{.Image}}
          # JOB_COMPLETION_INDEX says which shard this is.
          args: ["study", "run", {{.Plan}}, "--shards", "{{.Chunks}}", "--jobs", "{{.Cores}}", "--quiet"]
          resources:
            requests:
              cpu: "{{.Cores}}"
              memory: {{.Memory}}Mi
            limits:
              cpu: "{{.Cores}}"
              memory: {{.Memory}}Mi
          securityContext:
            allowPrivilegeEscalation: false
            readOnlyRootFilesystem: true
          volumeMounts:
            - name: study
              mountPath: /study
      volumes:
        - name: study
          persistentVolumeClaim:
            claimName: {{.Claim}}
`

// Kubernetes returns the manifest of an Indexed Job. The volume claim must hold the folder of the
// plan, and the plan must name all tables by relative paths. If s.NeedsPilot returns false, e may
// be nil.
func (p *Plan) Kubernetes(s Submission, e *Estimate) string {
	s = s.complete(p.Tasks(), e)
	if s.Running == 0 {
		s.Running = s.Chunks
	}
	return render(kubernetesJob, map[string]any{
		"Name": jobName(p.Name()), "Chunks": s.Chunks, "Running": s.Running, "Seconds": int(s.Time.Seconds()), "Cores": s.Cores,
		"Image": strconv.Quote(s.Image), "Plan": strconv.Quote("/study/" + p.Name() + ".toml"), "Memory": mebibytes(s.Memory), "Claim": strconv.Quote(s.Claim),
	})
}
