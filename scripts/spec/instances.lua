-- EC2 instance types as names of profiles: which generation their devices are of, how many
-- there are, and where that is known from.
local aws = "source: AWS, the instance type's network description"
local memory = "guess: from memory"
local function instance(name, profile, devices, source)
	return { name = name, profile = profile, devices = devices, source = source }
end

return {
	instance("c5n.18xlarge", "efa0", 1, memory),
	instance("g4dn.metal", "efa0", 1, memory),
	instance("inf1.24xlarge", "efa0", 1, memory),
	instance("m5n.24xlarge", "efa0", 1, memory),
	instance("p3dn.24xlarge", "efa0", 1, memory),
	instance("r5n.24xlarge", "efa0", 1, memory),
	instance("c6i.32xlarge", "efa1", 1, memory),
	instance("c6in.32xlarge", "efa1", 2, memory),
	instance("dl1.24xlarge", "efa1", 4, aws),
	instance("g5.48xlarge", "efa1", 1, memory),
	instance("hpc6a.48xlarge", "efa1", 1, memory),
	instance("hpc7a.96xlarge", "efa1", 2, memory),
	instance("m6i.32xlarge", "efa1", 1, memory),
	instance("p4d.24xlarge", "efa1", 4, aws),
	instance("p4de.24xlarge", "efa1", 4, aws),
	instance("trn1.32xlarge", "efa1", 8, memory),
	instance("c7gn.16xlarge", "efa2", 1, memory),
	instance("hpc7g.16xlarge", "efa2", 1, memory),
	instance("p5.48xlarge", "efa2", 32, aws),
	instance("p5e.48xlarge", "efa2", 32, aws),
	instance("trn1n.32xlarge", "efa2", 16, memory),
	instance("p5en.48xlarge", "efa3", 16, memory),
	instance("trn2.48xlarge", "efa3", 16, memory),
	instance("p6-b200.48xlarge", "efa4", 8, "source: AWS, the FSx for Lustre documentation"),
	instance("p6-b300.48xlarge", "efa4", 16, "source: AWS, the FSx for Lustre documentation"),
	instance("p6e-gb200.36xlarge", "efa4", 8, "source: AWS, the FSx for Lustre documentation"),
}
