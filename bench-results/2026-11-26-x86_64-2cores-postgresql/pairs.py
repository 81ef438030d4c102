import subprocess,time,resource,statistics,sys
A="postgresql://postgres@127.0.0.1:5999/postgres"
def run(words):
    b=time.monotonic(); r0=resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(words,check=True,stdout=subprocess.DEVNULL)
    r=resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.monotonic()-b, r.ru_utime+r.ru_stime-r0.ru_utime-r0.ru_stime
def trunc(): subprocess.run(["psql",A,"-qc","truncate million","-c","checkpoint"],check=True)
rs=[]
for i in range(int(sys.argv[1])):
    trunc(); p=run(["psql",A,"-qc",r"\copy million from million.csv csv header"])
    trunc(); s=run(["./sheaf","import","million.csv","--into",A,"--table","million","--quiet","--durability","full","--batch-size","10000","--connections","4"])
    rs.append(p[0]/s[0]); print(f"{p[0]:.2f} {s[0]:.2f} {p[0]/s[0]:.2f} cpu {p[1]:.2f} {s[1]:.2f}",flush=True)
print("median",statistics.median(rs))
